import { call } from '../../client/call.js';
import type { JsonObject } from '../../model/json.js';
import type { Operation } from '../../model/cluster/operation.js';
import type { Session } from '../session.js';
import { readPrinted } from './log/log-parts.js';
import { asObject, decodeFailure, decodeFirst, textOf } from './task/decode-history.js';
import { readTasks } from './task/history-events.js';
import type { TaskRun } from './task/task-events.js';

/** What became of a command on one node. */
export interface ExecResult {
  readonly node: string;
  /** Null where it did not come to its end, or did not run at all. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Only the end of the output is here; the rest is in the log, in the store of the worker that ran it. */
  readonly cut?: true;
  /** Name of the log in the store. */
  readonly log?: string;
  /** Why there is no exit code. */
  readonly problem?: string;
}

/** Histories can be long. */
const readMs = 20_000;
/** Longest end of the output in a task's result, in characters. */
const tailLength = 2_048;

/**
 * The results of an exec on these nodes, from the cluster's history and the logs that are on this machine.
 */
export async function readResults(
  { temporal, config }: Session,
  cluster: string,
  operation: Operation,
  nodes: readonly string[],
): Promise<readonly ExecResult[]> {
  const since = Date.parse(operation.startedAt ?? operation.requestedAt);
  const runs = await call(
    temporal,
    `results of ${cluster}`,
    () => readTasks(temporal, cluster, { operation: operation.id, action: 'EXEC', since }),
    readMs,
  );
  const results: ExecResult[] = [];
  for (const node of nodes) {
    const run = runs.find(({ nodeId }) => nodeId === node);
    results.push(
      run === undefined
        ? { node, exitCode: null, stdout: '', stderr: '', problem: 'it did not run' }
        : await resultOf(run),
    );
  }
  return results;

  async function resultOf(run: TaskRun): Promise<ExecResult> {
    const { exitCode, problem, report } = await readOutcome(run);
    const log = textOf(report['log']);
    const printed = log === undefined ? undefined : await readPrinted(config.storeFolder, log);
    const [stdout, stderr] = [textOf(report['stdout']) ?? '', textOf(report['stderr']) ?? ''];
    const cut = printed === undefined && Math.max(stdout.length, stderr.length) >= tailLength;
    return { node: run.nodeId, exitCode, stdout, stderr, ...printed, cut: cut || undefined, log, problem };
  }

  async function readOutcome({
    end,
  }: TaskRun): Promise<{
    readonly exitCode: number | null;
    readonly problem?: string;
    readonly report: JsonObject;
  }> {
    if (end?.state === 'done')
      return { exitCode: 0, report: asObject(await decodeFirst(temporal, end.result)) };
    if (!end?.failure)
      return {
        exitCode: null,
        problem: end === undefined ? 'it has not ended' : `it was ${end.state}`,
        report: {},
      };
    const failure = await decodeFailure(temporal, end.failure);
    const report = asObject(failure.details);
    const code = report['exitCode'];
    return typeof code === 'number'
      ? { exitCode: code, report }
      : { exitCode: null, problem: failure.message, report };
  }
}
