import { ok } from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { ProgramFault } from '../plugins/errors.js';
import type { RegisteredProvider } from '../plugins/registry.js';

/** How long a cancelled call may take to end, in ms. */
const endMs = 30_000;

/** What a cancelled call ended with. @throws Error if it goes on. */
export async function inTime<Outcome>(outcome: Promise<Outcome>): Promise<Outcome> {
  const over = new AbortController();
  const late = pause(endMs, undefined, { signal: over.signal }).then(() => {
    throw new Error(`the call goes on ${endMs / 1_000} s after its signal was aborted`);
  });
  try {
    return await Promise.race([outcome, late]);
  } finally {
    over.abort();
    late.catch(() => undefined);
  }
}

/** Checks that a cancelled call failed, and that its process did not have to be killed. */
export function endsOnRequest(error: unknown): asserts error is Error {
  ok(error instanceof Error, 'the call was cancelled, and returned success');
  const isKilled = error instanceof ProgramFault && error.message.includes('SIGKILL');
  ok(!isKilled, `the plugin ignores its signal and SIGTERM: ${error.message}`);
}

/**
 * Checks besides that a class ended the call by itself. Not for automators: theirs end once the
 * engine has ended the script on the node.
 */
export function endsItself(error: unknown, { isProgram }: Pick<RegisteredProvider, 'isProgram'>): void {
  endsOnRequest(error);
  ok(
    isProgram || !(error instanceof ProgramFault),
    `the class ignores its signal: pass this.signal to what it waits for. ${error.message}`,
  );
}
