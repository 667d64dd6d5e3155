import { randomBytes } from 'node:crypto';
import { PluginError } from '../plugins/errors.js';
import type { Connection } from './connection.js';
import { connectionLost } from './failure.js';
import { explainSilence } from './follow.js';
import { putFileProgram } from './remote/small.js';
import { startProgram } from './session.js';
import { describeTarget } from './target.js';

/**
 * Writes a file whole or not at all: beside its place, checked for its size, then renamed. Relative paths
 * start in the login user's home. Only the owner may read it unless a mode is given.
 * @throws PluginError Invalid when the node refuses (no such folder, disk full), Retryable when the
 * connection was lost.
 */
export async function putFile(
  connection: Connection,
  path: string,
  content: string | Uint8Array,
  options: { readonly mode?: number } = {},
): Promise<void> {
  const bytes = Buffer.from(content);
  const { mode = 0o600 } = options;
  const where = describeTarget(connection.target);
  if (path === '' || /[\p{Cc}]/u.test(path))
    throw new PluginError('Invalid', `${JSON.stringify(path)} is no path for a file on ${where}`);
  const session = await startProgram(connection, {
    program: putFileProgram,
    input: bytes,
    variables: {
      // A leading dash would be an option to the commands of the node.
      path: path.startsWith('-') ? `./${path}` : path,
      tag: randomBytes(8).toString('hex'),
      total: bytes.length,
      mode: mode.toString(8).padStart(4, '0'),
    },
  });
  try {
    for await (const frame of session.frames) {
      if (frame.kind !== 'line') continue;
      if (frame.words[0] === 'end') return;
      throw new PluginError('Invalid', `cannot write ${path} on ${where}: ${frame.words.slice(1).join(' ')}`);
    }
  } finally {
    session.close();
  }
  await explainSilence(session, connection, false);
  throw connectionLost(connection.target);
}
