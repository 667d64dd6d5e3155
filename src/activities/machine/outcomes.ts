import { PluginError } from '../../plugins/errors.js';
import type { Knowledge, Outcome } from '../../plugins/contract.js';

/** Delay before a question is asked again, in ms. */
const askAgainMs = 2_000;

/**
 * Returns if done; fails permanently if not done; an unknown outcome is asked again, with
 * growing pauses, until the action's budget is over.
 */
export function insist(verb: string, { answer, why }: Outcome): void {
  if (answer === 'done') return;
  if (answer === 'not done')
    throw new PluginError('Invalid', `${verb} was not done: ${why ?? 'no reason was given'}`);
  throw new PluginError(
    'Retryable',
    `it is unknown whether ${verb} was done: ${why ?? 'no reason was given'}`,
  );
}

/** A question is asked a few times; still unknown is then a valid answer. */
export function settleAnswer(question: string, knowledge: Knowledge, attempt: number): Knowledge {
  if (knowledge.is !== 'unknown' || attempt >= 3) return knowledge;
  throw new PluginError('Retryable', `it is unknown ${question}: ${knowledge.why ?? 'no reason was given'}`, {
    retryAfterMs: askAgainMs,
  });
}

/** The message of an error. Cancellation is rethrown. */
export function whyOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) throw error;
  return error instanceof Error ? error.message : String(error);
}
