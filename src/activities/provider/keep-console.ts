import { anySignal, within } from '../../model/signals.js';
import type { TaskRequest } from '../../model/node/task-request.js';
import type { Task } from '../../model/node/task.js';
import { isPluginError, PluginError } from '../../plugins/errors.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';
import { callProvider, type ProviderTarget } from './provider-call.js';

/** Longest wait for the console, in ms. */
export const consoleMs = 5_000;

/** The part of the console that is kept: its end. */
const mostCharacters = 64 * 1024;

/** What later attempts get. */
const keptMark = 'console is kept';

export interface FailedConfirm {
  readonly parts: ActivityParts;
  readonly task: Task;
  readonly request: TaskRequest;
  readonly attempt: Attempt;
  readonly target: ProviderTarget;
  /** The task's time is nearly over, so that NotReady may be its end. */
  readonly isLate: boolean;
  /** Aborted when the task has no time for the console any more. */
  readonly budget: AbortSignal;
}

/**
 * Writes the machine's console into the log of a CONFIRM that fails. Returns the error with a message
 * that says so, or the same error if there is no console: reading it never fails the task in another way.
 */
export async function keepConsole(
  { parts, task, request, attempt, target, isLate, budget }: FailedConfirm,
  error: unknown,
): Promise<unknown> {
  if (!isPluginError(error) || !target.plugin.abilities.includes('consoleOutput')) return error;
  if (attempt.output.name === '' || attempt.signal.aborted || attempt.detach.aborted) return error;
  if (error.kind === 'Retryable' || (error.kind === 'NotReady' && !isLate)) return error;
  const { kind, message } = error;
  const withMessage = (more: string): PluginError => new PluginError(kind, `${message} (${more})`, error);
  if (kind === 'NotReady' && attempt.marked() === keptMark)
    return withMessage("its console is in the task's log");
  try {
    // The wait for admission counts too: the error must be reported before the task's time is over.
    const signal = anySignal([budget, AbortSignal.timeout(consoleMs)]);
    const options = { deadlineMs: consoleMs, signals: [signal] };
    const call = callProvider(parts, { task, request, attempt }, target, options, async (admitted) =>
      // A provider may ignore its signal.
      within(Promise.resolve(admitted.provider.consoleOutput?.(admitted.machine)), signal),
    );
    const output = await within(call, signal);
    const text = endOf(output ?? '');
    if (text === '') return error;
    attempt.log.info(`console of the machine, the last ${text.length} characters`);
    await attempt.output.print('stdout', Buffer.from(`${text}\n`));
    attempt.mark(keptMark);
    return withMessage(
      `its console is in the task's log, and ends with: ${lastLineOf(attempt.redact(text))}`,
    );
  } catch (cause) {
    attempt.log.info(`the console cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`);
    return error;
  }
}

/** Without the first line if that is cut: a part of a secret would not be recognised. */
function endOf(text: string): string {
  const end = text.slice(-mostCharacters).trimEnd();
  return text.length <= mostCharacters ? end : end.slice(end.indexOf('\n') + 1);
}

function lastLineOf(text: string): string {
  const line = text.slice(text.lastIndexOf('\n') + 1);
  return line.replaceAll(/\p{Cc}+/gu, ' ').slice(-200);
}
