import type { WaitResult } from '../../client/wait.js';
import type { Operation } from '../../model/cluster/operation.js';
import { cleanLine, cleanText } from '../clean-text.js';
import { CliError, exitCodes } from '../errors.js';
import type { Output } from '../output.js';
import { formatDuration } from '../format.js';
import { failuresOf, printFailures, printRecorded } from './failure-text.js';
import { nextCommand } from './next-steps.js';
import { driftLines } from './node-text.js';

export interface EndOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The operation had ended before it was requested again. */
  readonly unchanged?: boolean;
}

/**
 * Reports how an operation ended; returns the exit code.
 * @throws CliError Invalid when it was rejected, Refused when another took its place, Held, Failed and
 * Cancelled.
 */
export function reportEnd(output: Output, end: WaitResult, { now, unchanged = false }: EndOptions): number {
  const { operation, status } = end;
  const { name } = status;
  const { id, what, reason } = operation;
  const next = `heddle status ${name}`;
  switch (operation.state) {
    case 'rejected':
      throw new CliError(
        'Invalid',
        `cluster ${name} does not take this, and nothing was changed:\n${cleanText(reason ?? '')}`,
      );
    case 'superseded':
      throw new CliError(
        'Refused',
        `operation ${id} of ${name} (${what}) gave way to another: ${reason ?? 'a later one took its place'}`,
        { next },
      );
    case 'held':
      printFailures(output, status, now);
      return reportUndone(output, end, heldError(end));
    case 'failed':
      printRecorded(output, name, operation, now);
      return reportUndone(output, end, failedError(end));
    case 'cancelled': {
      const message = `operation ${id} of ${name} (${what}) was ${reason ?? 'cancelled'}; what was done stays`;
      return reportUndone(output, end, new CliError('Cancelled', message, { next }));
    }
    default:
      return reportDone(output, end, unchanged);
  }
}

/** Reports the end of an operation that the user cancelled. */
export function reportCancelled(output: Output, { operation, status }: WaitResult): number {
  const { id, state, what, startedAt } = operation;
  const cancelled = state === 'cancelled';
  const how = startedAt === undefined ? 'before it began' : 'and what was done stays';
  output.line(
    `${status.name}: operation ${id} (${what}) ${cancelled ? `is cancelled, ${how}` : `ended before it could be cancelled: ${state}`}`,
  );
  output.document({ cluster: status.name, clusterUid: status.uid, operation });
  return cancelled ? exitCodes.ok : exitCodes.refused;
}

function reportDone(output: Output, { operation, status }: WaitResult, unchanged: boolean): number {
  const { reason, abandoned = [] } = operation;
  const same = unchanged || operation.unchanged === true;
  output.line(describeDone(operation, status.name, status.nodes.length, same));
  if (!output.json && reason !== undefined) output.note(`warning: ${cleanLine(reason)}`);
  const looked = operation.kind === 'apply' || operation.kind === 'rollback';
  for (const line of output.json || !looked ? [] : driftLines(status.nodes))
    output.note(`warning: ${cleanLine(line)}; nothing was done about it`);
  for (const machine of output.json ? [] : abandoned)
    output.note(`warning: given up undeleted: ${cleanLine(machine)}`);
  output.document({ cluster: status.name, clusterUid: status.uid, operation, unchanged: same || undefined });
  return exitCodes.ok;
}

function describeDone(operation: Operation, name: string, nodes: number, unchanged: boolean): string {
  const { kind, what, startedAt, requestedAt, endedAt, tasks } = operation;
  if (kind === 'delete' || (kind === 'rollback' && nodes === 0)) return `cluster ${name} is deleted`;
  if (unchanged)
    return kind === 'apply'
      ? `cluster ${name}: no changes`
      : `cluster ${name}: ${what}: there was nothing to do`;
  const took =
    endedAt === undefined
      ? ''
      : ` in ${formatDuration(Date.parse(endedAt) - Date.parse(startedAt ?? requestedAt))}`;
  const counts = `${count(nodes, 'node')}, ${count(tasks.done, 'task')} done${took}`;
  if (kind === 'apply') return `cluster ${name} is as its spec says: ${counts}`;
  if (kind === 'rollback') return `cluster ${name} is back at its earlier spec: ${counts}`;
  return `cluster ${name}: ${what}: ${count(tasks.done, 'task')} done${took}`;
}

function heldError({ operation, status }: WaitResult): CliError {
  const { done, total } = operation.tasks;
  const failed = status.nodes.filter(({ failure }) => failure !== undefined).length;
  const why =
    failed === 0
      ? cleanText(operation.reason ?? 'it cannot go on')
      : `${count(failed, 'node')} failed, ${done} of ${total} tasks are done`;
  return new CliError('Held', `${cleanLine(operation.what)} of ${status.name} is held: ${why}`, {
    next: nextCommand(status) ?? `heddle status ${status.name}`,
  });
}

/** A failed operation is over; a rollback may follow it. */
function failedError({ operation, status }: WaitResult): CliError {
  const rollback = [status.operation, ...status.queued, ...status.history].find(
    (other) => other?.kind === 'rollback' && Number(other.id) > Number(operation.id),
  );
  const after = rollback === undefined ? '' : `\noperation ${rollback.id} goes back to the spec before`;
  const why = cleanLine((operation.reason ?? 'a task failed').split('\n')[0] ?? '');
  return new CliError('Failed', `${cleanLine(operation.what)} of ${status.name} failed: ${why}${after}`, {
    next: `heddle status ${status.name}${rollback === undefined ? '' : ' --watch'}`,
  });
}

/** People get an error, programs one document with all of it. */
function reportUndone(output: Output, { operation, status }: WaitResult, error: CliError): number {
  if (!output.json) {
    output.line();
    throw error;
  }
  const { code, message, next } = error;
  output.document({
    cluster: status.name,
    clusterUid: status.uid,
    operation,
    failures: failuresOf(status, operation),
    error: { code, message, next },
  });
  return exitCodes.failed;
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}
