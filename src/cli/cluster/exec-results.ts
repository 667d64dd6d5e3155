import type { Client } from '@temporalio/client';
import { call } from '../../client/call.js';
import type { Operation } from '../../model/cluster/operation.js';
import type { Session } from '../session.js';
import { readPrinted } from './log/log-parts.js';
import { defaultLogLimit } from '../../store/folder.js';
import { openArchive } from './log/open-archive.js';
import { asObject, decodeFailure, decodeResult, textOf } from '../../client/decode-history.js';
import { readTasks } from './task/history-events.js';
import type { TaskRun } from './task/task-events.js';

/** The result of a command on one node. */
export interface ExecResult {
  readonly node: string;
  /** Null if the command did not end, or did not run. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Only the end of the output is here; the rest is in the log, in the store of the worker that ran it. */
  readonly cut?: true;
  /** The log was cut at this size, in bytes: it holds the beginning of the output. */
  readonly cutAt?: number;
  /** Name of the log in the store. */
  readonly log?: string;
  /** Why it failed, other than by its exit code. */
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
    () => readTasks(temporal, cluster, { operation: operation.uid, action: 'EXEC', since }),
    { waitMs: readMs },
  );
  const archive = openArchive(config);
  const results: ExecResult[] = [];
  for (const node of nodes) {
    const run = runs.find(({ nodeId }) => nodeId === node);
    const outcome = await readOutcome(temporal, run);
    const report = asObject(outcome.report);
    const log = textOf(report['log']);
    const times = { from: run?.scheduledAt ?? since, until: run?.end?.at };
    const found = log === undefined ? {} : await readPrinted(archive, log, times);
    const { stdout, stderr } = found.printed ?? {
      stdout: textOf(report['stdout']) ?? '',
      stderr: textOf(report['stderr']) ?? '',
    };
    const cut = found.printed === undefined && Math.max(stdout.length, stderr.length) >= tailLength;
    const { exitCode, problem } = outcome;
    results.push({ node, exitCode, stdout, stderr, cut: cut || undefined, cutAt: found.cutAt, log, problem });
  }
  return results;
}

/** Says where the rest of a truncated output is. */
export function describeCut(cluster: string, node: string, { cutAt, log }: ExecResult): string {
  const command = `heddle logs ${cluster} ${node} --action EXEC`;
  const start = `only the end of the output of ${node}`;
  const place = log === undefined ? 'in the store of its worker' : `where ${log} is stored`;
  const mebibytes = defaultLogLimit / 1024 ** 2;
  return cutAt === undefined
    ? `${start}; its first ${mebibytes} MiB: ${command}, ${place}`
    : `${start}, which exceeded the limit of a log; its first ${cutAt} bytes with their times: ${command}; ` +
        'its beginning and end are also on the node, in .heddle/runs of the home folder, until the run folder is removed';
}

interface NodeOutcome {
  readonly exitCode: number | null;
  readonly problem?: string;
  readonly report?: unknown;
}

async function readOutcome(temporal: Client, run: TaskRun | undefined): Promise<NodeOutcome> {
  if (run === undefined) return { exitCode: null, problem: 'it did not run' };
  if (run.end === undefined) return { exitCode: null, problem: 'it has not ended' };
  const { state, result, failure: encoded } = run.end;
  if (state === 'done') return { exitCode: 0, report: await decodeResult(temporal, result) };
  if (!encoded) return { exitCode: null, problem: `it was ${state}` };
  const failure = await decodeFailure(temporal, encoded);
  const exitCode = asObject(failure.details)['exitCode'];
  if (typeof exitCode !== 'number')
    return { exitCode: null, problem: failure.message, report: failure.details };
  // A full disk or the time limit says more than the exit code.
  const isPlain = failure.message.endsWith(`exit code ${exitCode}`);
  return { exitCode, problem: isPlain ? undefined : failure.message, report: failure.details };
}
