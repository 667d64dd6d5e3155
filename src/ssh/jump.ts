import { Duplex } from 'node:stream';
import type { ClientChannel } from 'ssh2';
import { isPluginError, wrapError } from '../plugins/errors.js';
import type { Connection } from './connection.js';
import type { SshTarget } from './target.js';

/** The way to a target through its jump host. */
export interface Link {
  readonly stream: Duplex;
  /** The target's connection has ended. */
  readonly release: () => void;
}

/**
 * Opens a way to the target through a connection to its jump host, which `release` leaves open or ends with
 * `leave`.
 * @throws PluginError of the kind that the jump host's connection failed with, Invalid when it forwards
 * nothing, Retryable when it does not reach the target.
 */
export async function openLink(
  target: SshTarget,
  connecting: Promise<Connection>,
  leave: (jump: Connection) => void,
): Promise<Link> {
  const connection = await connecting.catch((error: unknown) => {
    if (!isPluginError(error)) throw error;
    throw wrapError(error, `jump host of ${target.host}: ${error.message}`);
  });
  try {
    const stream = detachable(await connection.forward(target.host, target.port));
    return {
      stream,
      release: () => {
        stream.destroy();
        leave(connection);
      },
    };
  } catch (error) {
    leave(connection);
    throw error;
  }
}

/**
 * Closes an abandoned channel at once; ssh2 would wait for the jump host's answer. A target that has closed
 * its side counts as ended: the jump host reports nothing more after a reset, and ssh2 no longer checks.
 */
function detachable(channel: ClientChannel): Duplex {
  const stream = new Duplex({
    allowHalfOpen: false,
    read: () => {
      channel.resume();
    },
    write: (chunk: Buffer, _encoding, done) => {
      channel.write(chunk, done);
    },
    final: (done) => {
      channel.end();
      done();
    },
    destroy: (error, done) => {
      channel.destroy();
      // What is still under way is thrown away, else the channel would never report its end.
      channel.resume();
      done(error);
    },
  });
  channel.on('data', (chunk: Buffer) => {
    if (!stream.destroyed && !stream.push(chunk)) channel.pause();
  });
  channel.on('end', () => {
    if (!stream.destroyed) stream.push(null);
  });
  channel.on('error', (error: Error) => {
    stream.destroy(error);
  });
  channel.on('close', () => {
    stream.destroy();
  });
  channel.stderr.resume();
  return stream;
}
