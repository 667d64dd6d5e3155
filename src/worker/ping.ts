import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { childEnvironment } from '../config/child-environment.js';
import { unsafeText } from '../model/safe-text.js';
import { anySignal } from '../model/signals.js';

/** Wait for the reply, in seconds. */
const waitSeconds = 2;

/**
 * Whether a host replies to one ICMP echo of the system's program `ping`. Undefined if that cannot be tried: the
 * program is missing or may not send, or the host is unknown or not routed.
 */
export async function ping(host: string, signal: AbortSignal): Promise<boolean | undefined> {
  if (signal.aborted || unsafeText(host) !== undefined) return undefined;
  const child = spawn('ping', ['-n', '-q', '-c', '1', '-W', String(waitSeconds), host], {
    stdio: 'ignore',
    env: childEnvironment({ set: { LC_ALL: 'C' } }),
    signal: anySignal([signal, AbortSignal.timeout(3_000 * waitSeconds)]),
    killSignal: 'SIGKILL',
  });
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0 ? true : code === 1 ? false : undefined;
  } catch {
    return undefined;
  }
}
