import { setTimeout as pause } from 'node:timers/promises';
import { isPluginError } from '../plugins/errors.js';

/** Longest pause between two calls in ms, even if the plugin asks for more. */
export const longestPauseMs = 500;

/** Polls until the check returns something. @throws Error that says what it waited for. */
export async function until<Value>(
  what: string,
  check: () => Promise<Value | undefined | false>,
  patienceMs: number,
): Promise<Value> {
  const end = Date.now() + patienceMs;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (Date.now() > end) throw new Error(`waited ${patienceMs / 1_000} s for: ${what}`);
    await pause(50);
  }
}

/** Repeats a call that fails with NotReady, as the engine does. */
export async function untilReady<Value>(
  what: string,
  call: () => Promise<Value>,
  patienceMs: number,
): Promise<Value> {
  const end = Date.now() + patienceMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isPluginError(error) || error.kind !== 'NotReady') throw error;
      if (Date.now() > end)
        throw new Error(`waited ${patienceMs / 1_000} s for ${what}; it last said: ${error.message}`, {
          cause: error,
        });
      await pause(Math.min(error.retryAfterMs ?? longestPauseMs, longestPauseMs));
    }
  }
}

/** The failure of a call that must fail as a PluginError of one of these kinds. */
export async function failureOf(call: Promise<unknown>, kinds: readonly string[]): Promise<Error> {
  const failed = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('value' in failed)
    throw new Error(
      `it should have failed as ${kinds.join(' or ')}, and gave ${JSON.stringify(failed.value)}`,
    );
  const { error } = failed;
  if (!isPluginError(error))
    throw new Error(
      `it should throw a PluginError ${kinds.join(' or ')}, and failed with: ${String(error)}`,
      { cause: error },
    );
  if (!kinds.includes(error.kind))
    throw new Error(
      `it should fail as ${kinds.join(' or ')}, and failed as ${error.kind}: ${error.message}`,
      { cause: error },
    );
  return error;
}
