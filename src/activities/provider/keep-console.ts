import { setTimeout as wait } from 'node:timers/promises';
import { isPluginError, PluginError } from '../../plugins/errors.js';
import type { ProviderCall } from './provider-call.js';

/** Longest wait for the console, in ms, and the part of it that is kept: its end. */
const answerMs = 10_000;
const mostCharacters = 64 * 1024;

/** What later attempts are told. */
const keptMark = 'console is kept';

/**
 * Writes the machine's console into the log of a CONFIRM that fails. Returns the error with a message that says so, or
 * the same error if there is no console: reading it never fails the task in another way.
 * @param isLate the task's time is nearly over, so that NotReady may be its end.
 */
export async function keepConsole(
  { provider, machine, attempt }: ProviderCall,
  error: unknown,
  isLate: boolean,
): Promise<unknown> {
  if (!isPluginError(error) || provider.consoleOutput === undefined || attempt.output.name === '')
    return error;
  if (error.kind === 'Retryable' || (error.kind === 'NotReady' && !isLate)) return error;
  const { kind, message, cause, retryAfterMs, result, stdout, stderr, exitCode } = error;
  const withMessage = (more: string): PluginError =>
    new PluginError(kind, `${message} (${more})`, { cause, retryAfterMs, result, stdout, stderr, exitCode });
  if (kind === 'NotReady' && attempt.marked() === keptMark)
    return withMessage("its console is in the task's log");
  try {
    const late = wait(answerMs, undefined, { ref: false }).then(() => {
      throw new Error(`no answer within ${answerMs / 1_000} s`);
    });
    late.catch(() => undefined);
    const text = endOf((await Promise.race([provider.consoleOutput(machine), late])) ?? '');
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
