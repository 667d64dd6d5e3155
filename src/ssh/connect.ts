import { Client } from 'ssh2';
import { PluginError } from '../plugins/errors.js';
import { algorithmsFor } from './algorithms.js';
import { Connection } from './connection.js';
import { authMethods } from './credentials.js';
import { cannotReach, explainFailure } from './failure.js';
import { createPinningVerifier, createVerifier, type HostKeyVerifier } from './host-key.js';
import { openLink, type Link } from './jump.js';
import { describeTarget, hostKeysOf, type SshTarget } from './target.js';
import { Socket } from 'node:net';

export interface ConnectOptions {
  readonly signal?: AbortSignal;
  /** Timeout from the first packet to the completed login, in ms. Default: 15 s. */
  readonly timeoutMs?: number;
  /** The connection is closed after three intervals of this many ms without a response. Default: 5 s. */
  readonly keepaliveMs?: number;
  /** Returns the connection to a jump host. Default: a new one, which is closed with the target's. */
  readonly openJump?: (jump: SshTarget) => Promise<Connection>;
}

/**
 * Connects and logs in; the server must show one of `target.hostKey`.
 * @throws PluginError Retryable (not reachable, no answer), Auth (login refused), Invalid (wrong or unknown
 * host key, no common algorithm).
 */
export async function connect(target: SshTarget, options: ConnectOptions = {}): Promise<Connection> {
  const expected = hostKeysOf(target);
  if (expected.length === 0) {
    throw new PluginError(
      'Invalid',
      `no host key is known for ${describeTarget(target)}: CONFIRM pins it, or the provider returns it`,
    );
  }
  return open(target, createVerifier(expected), options);
}

/**
 * Connects to a node whose host key is not known, and accepts the key it shows. Only CONFIRM may do this. A
 * private key or an agent reveals nothing to an impostor, a password does. A target with a password is
 * refused even if it has a private key too: the impostor's key would be pinned, and later logins would offer
 * it the password.
 * @throws PluginError as `connect` does, and Invalid for a target with a password, unless it has
 * `pinsWithPassword`.
 */
export async function connectUnpinned(target: SshTarget, options: ConnectOptions = {}): Promise<Connection> {
  if (target.password !== undefined && target.pinsWithPassword !== true) {
    throw new PluginError(
      'Invalid',
      `the host key of ${describeTarget(target)} is unknown, and a password is sent only to a host with a known key: ` +
        'specify the host key, log in with a private key only, or accept the first key with `hostKeys: pin` of the account in heddle.yaml',
    );
  }
  return open(target, createPinningVerifier(), options);
}

async function open(
  target: SshTarget,
  verifier: HostKeyVerifier,
  options: ConnectOptions,
): Promise<Connection> {
  const { signal, timeoutMs = 15_000, keepaliveMs = 5_000 } = options;
  signal?.throwIfAborted();
  const authHandler = authMethods(target);
  const link = await openWay(target, options);
  const client = new Client();
  const sock = link?.stream ?? openSocket(target.host, target.port);
  // ssh2 has one time limit for both, and one error.
  let isReached = link !== undefined;
  sock.once('connect', () => (isReached = true));
  let refused: Buffer | undefined;
  let abort: (() => void) | undefined;
  try {
    return await new Promise<Connection>((resolve, reject) => {
      abort = () => reject(signal?.reason);
      signal?.addEventListener('abort', abort, { once: true });
      client.on('ready', () => {
        const presented = verifier.presented();
        if (presented === undefined) return reject(new Error('the server presented no host key'));
        const connection = new Connection(client, target, presented, { channelMs: timeoutMs });
        if (link !== undefined) void connection.closed.then(link.release);
        resolve(connection);
      });
      client.on('close', () => reject(new Error('the server closed the connection')));
      client.on('error', (error) => {
        // One failing agent key does not end the login: ssh2 tries the next and reports the end itself.
        if (error.level !== 'agent') reject(error);
      });
      client.connect({
        sock,
        username: target.user,
        authHandler,
        algorithms: algorithmsFor(hostKeysOf(target)),
        hostVerifier: (key: Buffer) => {
          const accepted = verifier.verify(key);
          refused = accepted ? undefined : key;
          return accepted;
        },
        readyTimeout: timeoutMs,
        keepaliveInterval: keepaliveMs,
        // Two pings without an answer, and the third interval is up.
        keepaliveCountMax: 2,
      });
    });
  } catch (error) {
    client.destroy();
    sock.destroy();
    link?.release();
    signal?.throwIfAborted();
    throw isReached ? explainFailure(target, error, refused) : cannotReach(target, error);
  } finally {
    if (abort !== undefined) signal?.removeEventListener('abort', abort);
  }
}

async function openWay(target: SshTarget, options: ConnectOptions): Promise<Link | undefined> {
  const { jump } = target;
  if (jump === undefined) return undefined;
  if (options.openJump !== undefined)
    return openLink(target, options.openJump(jump), () => {
      /* Others use it too. */
    });
  return openLink(target, connect(jump, options), (connection) => connection.close());
}

type Written = (error?: Error | null) => void;

/** Connects to a server; failures are events of the socket. */
function openSocket(host: string, port: number): Socket {
  const socket = new CorkedSocket();
  // 2 ms a command instead of 44 ms.
  socket.setNoDelay(true);
  return socket.connect({ host, port });
}

/** Sends together what is written together: ssh2 writes each message in three parts. */
class CorkedSocket extends Socket {
  override write(chunk: Uint8Array | string, written?: Written): boolean;
  override write(chunk: Uint8Array | string, encoding?: BufferEncoding, written?: Written): boolean;
  override write(...message: unknown[]): boolean {
    if (this.writableCorked === 0) {
      this.cork();
      process.nextTick(() => this.uncork());
    }
    return super.write(...(message as Parameters<Socket['write']>));
  }
}
