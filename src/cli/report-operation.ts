import type { WaitResult } from '../client/wait.js';
import type { Operation } from '../model/operation.js';
import type { ClusterStatus } from '../model/status.js';
import { cleanText } from './clean-text.js';
import { CliError } from './cli-error.js';
import { exitCodes } from './exit-codes.js';
import type { Output } from './output.js';
import { nextCommand, printFailures } from './status-text.js';
import { formatDuration } from './time-text.js';

export interface EndOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The operation had ended before anybody asked for it again. */
  readonly unchanged?: boolean;
}

/**
 * Says how an operation ended, and gives the code to exit with.
 * @throws CliError Invalid when it was rejected, Refused when another took its place, Held when something failed.
 */
export function reportEnd(output: Output, { operation, status }: WaitResult, { now, unchanged = false }: EndOptions): number {
  const { name } = status;
  switch (operation.state) {
    case 'rejected': throw new CliError('Invalid', `cluster ${name} does not take this spec, and nothing was changed:\n${cleanText(operation.reason ?? '')}`);
    case 'superseded': throw new CliError('Refused', `operation ${operation.id} of ${name} gave way to a later one`, { next: `heddle status ${name}` });
    case 'held': return reportHeld(output, operation, status, now);
    default:
      output.line(unchanged ? `cluster ${name}: no changes` : describeDone(operation, status));
      output.document({ cluster: name, clusterUid: status.uid, operation, ...(unchanged ? { unchanged } : {}) });
      return exitCodes.ok;
  }
}

function reportHeld(output: Output, operation: Operation, status: ClusterStatus, now: number): number {
  printFailures(output, status, now);
  const { done, total } = operation.tasks;
  const failed = status.nodes.filter(({ failure }) => failure !== undefined).length;
  const why = failed === 0 ? cleanText(operation.reason ?? 'it cannot go on') : `${failed} ${failed === 1 ? 'node' : 'nodes'} failed, ${done} of ${total} tasks are done`;
  const error = new CliError('Held', `${operation.kind} of ${status.name} is held: ${why}`, { next: nextCommand(status) ?? `heddle status ${status.name}` });
  if (!output.json) {
    output.line();
    throw error;
  }
  const { code, message, next } = error;
  const failures = status.nodes.flatMap(({ nodeId, failure }) => (failure === undefined ? [] : [{ nodeId, ...failure }]));
  output.document({ cluster: status.name, clusterUid: status.uid, operation, failures, error: { code, message, next } });
  return exitCodes.failed;
}

function describeDone(operation: Operation, status: ClusterStatus): string {
  const { kind, startedAt, requestedAt, endedAt, tasks, unchanged } = operation;
  if (kind === 'delete') return `cluster ${status.name} is deleted`;
  if (unchanged === true) return `cluster ${status.name}: no changes`;
  const took = endedAt === undefined ? '' : ` in ${formatDuration(Date.parse(endedAt) - Date.parse(startedAt ?? requestedAt))}`;
  const { length } = status.nodes;
  return `cluster ${status.name} is as its spec says: ${length} ${length === 1 ? 'node' : 'nodes'}, ${tasks.done} tasks done${took}`;
}
