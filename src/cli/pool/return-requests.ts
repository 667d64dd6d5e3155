import { messageOf } from '../report-error.js';
import type { Output } from '../output.js';

/** How long a return may take before it is announced, in ms. */
const quietMs = 1_000;

/** Waits until a request, or several, are returned. False if that fails: their lease ends without it. */
export async function untilReturned(output: Output, what: string, returned: Promise<void>): Promise<boolean> {
  const slow = setTimeout(
    () => output.note(`returning ${what}; after Ctrl-C, the end of the lease returns the nodes`),
    quietMs,
  );
  try {
    await returned;
    return true;
  } catch (error) {
    output.note(
      `${what} could not be returned; the lease will expire: ${messageOf(error).split('\n')[0] ?? ''}`,
    );
    return false;
  } finally {
    clearTimeout(slow);
  }
}
