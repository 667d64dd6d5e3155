import type { ClusterSpec } from '../../../model/cluster/spec.js';
import { isEmptyPlan } from '../../../model/plan/plan.js';
import type { ScopeOptions, ServerOptions } from '../../configuration.js';
import { CliError, exitCodes } from '../../errors.js';
import { reportError } from '../../report-error.js';
import { readSpec } from '../../spec-file.js';
import type { VariableOptions } from '../../given-variables.js';
import { verb } from '../../verb.js';
import type { GraphForm } from './graph.js';
import { applyIntentOf, type Planned, plannedShown, previewApply, withWarnings } from './preview.js';

interface PlanOptions extends ServerOptions, ScopeOptions, VariableOptions {
  readonly graph?: GraphForm;
  readonly detailedExitcode?: boolean;
  readonly rolling?: number;
  /** Whether to probe the machines first. */
  readonly probe: boolean;
}

/** Shows what an apply of the file would do. Nothing is changed. */
export async function plan(file: string, options: PlanOptions): Promise<number> {
  try {
    if (options.graph !== undefined && options.json === true)
      throw new CliError('Usage', '--graph and --json cannot both be written to standard output');
    return await preview(await readSpec(file, options), file, options);
  } catch (error) {
    if (options.detailedExitcode !== true) throw error;
    // Exit code 2 means changes here.
    reportError(error, { json: options.json === true });
    return exitCodes.failed;
  }
}

const preview = verb<[spec: ClusterSpec, file: string, options: PlanOptions], Planned>(
  async (session, spec, file, options) => {
    const { probe, graph, detailedExitcode } = options;
    const { name } = spec;
    const unprobed = probe ? await session.client.probe(name) : [];
    const found = withWarnings(await previewApply(session, spec, file, options), unprobed);
    return { name, intent: applyIntentOf(options), preview: found, graph, detailedExitcode };
  },
  {
    ...plannedShown,
    worker: true,
    exitCode: ({ preview: { plan: found }, detailedExitcode }) =>
      detailedExitcode === true && !isEmptyPlan(found) ? exitCodes.usage : exitCodes.ok,
  },
);
