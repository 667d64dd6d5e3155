import { runProgram } from '../config/run-program.js';
import { unsafeText } from '../model/safe-text.js';

/** Wait for the reply, in seconds. */
const waitSeconds = 2;

/**
 * Whether a host replies to one ICMP echo of the system's program `ping`. Undefined if that
 * cannot be tried: the program is missing or may not send, or the host is unknown or not routed.
 */
export async function ping(host: string, signal: AbortSignal): Promise<boolean | undefined> {
  if (signal.aborted || unsafeText(host) !== undefined) return undefined;
  const { failure } = await runProgram('ping', ['-n', '-q', '-c', '1', '-W', String(waitSeconds), host], {
    environment: { set: { LC_ALL: 'C' } },
    timeoutMs: 3_000 * waitSeconds,
    signal,
  });
  if (failure === undefined) return true;
  return failure.code === 1 ? false : undefined;
}
