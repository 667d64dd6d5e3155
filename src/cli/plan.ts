import { isEmptyPlan, taskCount } from '../model/plan.js';
import { CliError } from './cli-error.js';
import type { ServerOptions } from './configuration.js';
import { exitCodes } from './exit-codes.js';
import { createOutput } from './output.js';
import { drawPlan, type GraphForm } from './plan-graph.js';
import { printPlan } from './plan-text.js';
import { reportError } from './report-error.js';
import { placeProblems, readSpec } from './spec-file.js';

export interface PlanOptions extends ServerOptions {
  readonly graph?: GraphForm;
  readonly detailedExitcode?: boolean;
}

/** Shows what an apply of the file would do. Nothing is changed. */
export async function plan(file: string, options: PlanOptions): Promise<number> {
  try {
    return await show(file, options);
  } catch (error) {
    if (options.detailedExitcode !== true) throw error;
    // 2 stands for changes here.
    reportError(error, { json: options.json === true });
    return exitCodes.failed;
  }
}

async function show(file: string, options: PlanOptions): Promise<number> {
  if (options.graph !== undefined && options.json === true) throw new CliError('Usage', '--graph and --json cannot both be written to standard output');
  const spec = readSpec(file);
  const output = createOutput(options);
  // A faulty file is told at once: what talks to a server is loaded after that.
  const { requireWorker, withSession } = await import('./session.js');
  const { plan: planned, current } = await withSession(options, async (session) => {
    await requireWorker(session);
    return session.client.plan(spec).catch((error: unknown) => {
      throw placeProblems(error, file);
    });
  });
  if (options.graph !== undefined) output.line(drawPlan(planned, options.graph));
  else printPlan(output, spec.name, planned);
  const changes = !isEmptyPlan(planned);
  output.document({ cluster: spec.name, changes, tasks: taskCount(planned), plan: planned, current });
  return options.detailedExitcode === true && changes ? exitCodes.usage : exitCodes.ok;
}
