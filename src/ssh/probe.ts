import { PluginError } from '../plugins/errors.js';
import { connect, connectUnpinned } from './connect.js';
import type { Connection } from './connection.js';
import { bootWord, identityFunctions } from './remote/identity.js';
import { Runner } from './runner.js';
import { startProgram } from './session.js';
import { describeTarget, hostKeysOf, type SshTarget } from './target.js';

export interface ProbeOptions {
  readonly signal?: AbortSignal;
  /** Timeout from the first packet to the completed login, in ms. Default: 10 s. */
  readonly timeoutMs?: number;
  /** Returns the connection to the target's jump host. Default: a new one. */
  readonly openJump?: (jump: SshTarget) => Promise<Connection>;
  /** Gets the connection of a successful probe; without it, the connection is closed. */
  readonly keep?: (connection: Connection) => void;
}

export interface Probed {
  readonly hostKey: string;
  /**
   * A different one means that the machine was restarted. Absent if no command can run, or the system does
   * not report it.
   */
  readonly bootId?: string;
}

/**
 * Looks once whether SSH answers at the target and lets us in. With `target.hostKey` that key is enforced;
 * without, the key the server shows is returned so that the caller can pin it.
 * @throws PluginError Retryable (not there yet), Auth (login refused), Invalid (another host key).
 */
export async function probe(target: SshTarget, options: ProbeOptions = {}): Promise<Probed> {
  const attempt = hostKeysOf(target).length === 0 ? connectUnpinned : connect;
  const limits = { ...options, timeoutMs: options.timeoutMs ?? 10_000 };
  const connection = await attempt(target, limits);
  try {
    const bootId = await withLimits(
      options.keep === undefined ? readBootId(connection) : readBootIdOfRunner(connection),
      target,
      limits,
    );
    (options.keep ?? ((one) => one.close()))(connection);
    return { hostKey: connection.hostKey, bootId };
  } catch (error) {
    // The peer may not answer any more, so the connection is dropped.
    connection.destroy();
    throw error;
  }
}

/**
 * The kernel's boot id and the start of process 1: containers share the former with their host and with each
 * other.
 */
const bootIdProgram = `${identityFunctions}\nmachine\nprintf '\\n%s boot %s\\n' "$nonce" ${bootWord}`;

/** Starts the shell that later scripts of the node run in. */
async function readBootIdOfRunner(connection: Connection): Promise<string | undefined> {
  const runner = await Runner.take(connection, false);
  const frame = await runner.next();
  if (frame === undefined || frame === 'silence' || frame.kind === 'output') {
    runner.close();
    if (!connection.open) throw connection.lost();
    return undefined;
  }
  runner.keep();
  return bootIdIn(frame.words);
}

/** Undefined for a login that runs no commands: that is for the first service to report. */
async function readBootId(connection: Connection): Promise<string | undefined> {
  const session = await startProgram(connection, { program: bootIdProgram });
  try {
    for await (const frame of session.frames) {
      return frame.kind === 'line' ? bootIdIn(frame.words) : undefined;
    }
  } finally {
    session.close();
  }
  if (!connection.open) throw connection.lost();
  return undefined;
}

function bootIdIn([, bootId = '']: readonly string[]): string | undefined {
  // "-/" is the output of a system that reports neither.
  return bootId.length < 200 && /^\S*[A-Za-z0-9]\S*$/.test(bootId) ? bootId : undefined;
}

/** Also for a server that lets us in and then grants no channel. */
async function withLimits<Value>(
  work: Promise<Value>,
  target: SshTarget,
  { signal, timeoutMs }: ProbeOptions & { readonly timeoutMs: number },
): Promise<Value> {
  let abort = () => {
    /* Replaced at once. */
  };
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      work,
      new Promise<never>((_resolve, reject) => {
        abort = () => reject(signal?.reason);
        if (signal?.aborted === true) abort();
        timer = setTimeout(
          () =>
            reject(
              new PluginError(
                'Retryable',
                `${describeTarget(target)} accepts the login and then does not respond`,
              ),
            ),
          timeoutMs,
        );
        signal?.addEventListener('abort', abort, { once: true });
      }),
    ]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}
