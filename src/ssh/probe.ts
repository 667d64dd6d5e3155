import { connect, connectUnpinned } from './connect.js';
import { hostKeysOf, type SshTarget } from './target.js';

export interface ProbeOptions {
  readonly signal?: AbortSignal;
  /** From the first packet to the finished login, in ms; 10 s unless given. */
  readonly timeoutMs?: number;
}

/**
 * Looks once whether SSH answers at the target and lets us in. With `target.hostKey` that key is enforced; without, the
 * key the server shows is returned so that the caller can pin it.
 * @throws PluginError Retryable (not there yet), Auth (login refused), Invalid (another host key).
 */
export async function probe(target: SshTarget, options: ProbeOptions = {}): Promise<{ readonly hostKey: string }> {
  const attempt = hostKeysOf(target).length === 0 ? connectUnpinned : connect;
  const connection = await attempt(target, { timeoutMs: 10_000, ...options });
  connection.close();
  return { hostKey: connection.hostKey };
}
