import { isEmptyPlan } from '../../../model/plan/plan.js';
import type { ScopeOptions, ServerOptions } from '../../configuration.js';
import { CliError, exitCodes } from '../../errors.js';
import { quoteWord } from '../../../ssh/quote.js';
import { reportError } from '../../report-error.js';
import { type DeclaredSpec, readDeclaredSpec } from '../../spec-file.js';
import type { VariableOptions } from '../../given-variables.js';
import { verb } from '../../verb.js';
import type { GraphForm } from './graph.js';
import { applyIntentOf, type Planned, plannedShown, previewApply, withWarnings } from './preview.js';
import { savedPlanText, savePlan } from './saved-plan.js';

interface PlanOptions extends ServerOptions, ScopeOptions, VariableOptions {
  readonly verbose?: boolean;
  readonly graph?: GraphForm;
  readonly detailedExitcode?: boolean;
  readonly rolling?: number;
  /** Where to save the plan. */
  readonly out?: string;
  /** Whether to probe the machines first. */
  readonly probe: boolean;
}

/** Shows what an apply of the file would do. Nothing is changed. */
export async function plan(file: string, options: PlanOptions): Promise<number> {
  try {
    if (options.graph !== undefined && options.json === true)
      throw new CliError('Usage', '--graph and --json cannot both be written to standard output');
    if (savedPlanText(file) !== undefined)
      throw new CliError('Usage', `${file} is a saved plan, not a cluster file`, {
        next: `heddle apply ${quoteWord(file)} --plan`,
      });
    return await preview(await readDeclaredSpec(file, options), file, options);
  } catch (error) {
    if (options.detailedExitcode !== true) throw error;
    // Exit code 2 means changes here.
    reportError(error, { json: options.json === true });
    return exitCodes.failed;
  }
}

const preview = verb<[read: DeclaredSpec, file: string, options: PlanOptions], Planned>(
  async (session, { spec: written, variables }, file, options) => {
    const { probe, graph, verbose, detailedExitcode, out } = options;
    const { name } = written;
    // Names of resources are bound to their present versions.
    const spec = await session.client.resources.pin(written);
    const unprobed = probe ? await session.client.probe(name) : [];
    const found = withWarnings(await previewApply(session, spec, file, options), unprobed);
    const intent = applyIntentOf(options);
    const planned = { name, intent, preview: found, verbose, graph, detailedExitcode };
    if (out !== undefined) await savePlan(out, { file, spec, variables, planned, options });
    return planned;
  },
  {
    ...plannedShown,
    worker: true,
    print: (output, planned, _read, _file, { out }) => {
      plannedShown.print(output, planned);
      if (out !== undefined) output.note(`saved; next: heddle apply ${quoteWord(out)}`);
    },
    exitCode: ({ preview: { plan: found }, detailedExitcode }) =>
      detailedExitcode === true && !isEmptyPlan(found) ? exitCodes.usage : exitCodes.ok,
  },
);
