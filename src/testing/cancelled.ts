import { ok } from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { ProgramFault } from '../plugins/errors.js';
import type { Descriptor } from '../schema/descriptor.js';

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

/** Checks that a cancelled call failed, and that the plugin ended it: its process need not be killed. */
export function endsItself(error: unknown, { command }: Pick<Descriptor, 'command'>): void {
  ok(error instanceof Error, 'the call was cancelled, and returned success');
  if (!(error instanceof ProgramFault)) return;
  ok(
    command !== undefined,
    `the class ignores its signal: pass this.signal to what it waits for. ${error.message}`,
  );
  ok(!error.message.includes('SIGKILL'), `the program ignores SIGTERM: ${error.message}`);
}
