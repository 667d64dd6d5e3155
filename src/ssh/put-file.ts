import { randomBytes } from 'node:crypto';
import { PluginError } from '../plugins/errors.js';
import type { Connection } from './connection.js';
import { connectionLost } from './failure.js';
import { explainSilence, type RunPlace } from './follow.js';
import { putFileProgram, putSharedProgram } from './remote/small.js';
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
    throw new PluginError('Invalid', `${JSON.stringify(path)} is not a valid file path on ${where}`);
  // A leading dash would be an option to the commands of the node.
  const variables = { path: path.startsWith('-') ? `./${path}` : path, mode: modeText(mode) };
  await put(connection, { program: putFileProgram, variables, bytes, title: path });
}

/**
 * Keeps a text on the node that runs share.
 * @throws PluginError as {@link putFile} does.
 */
export async function putShared(
  connection: Connection,
  { runs, run, sudo }: Pick<RunPlace, 'runs' | 'run' | 'sudo'>,
  digest: string,
  text: string,
): Promise<void> {
  await put(connection, {
    program: putSharedProgram,
    variables: { runs, run, digest, mode: modeText(0o600) },
    bytes: Buffer.from(text),
    title: 'a file that runs share',
    sudo,
  });
}

function modeText(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}

interface Put {
  readonly program: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  /** For messages. */
  readonly title: string;
  readonly sudo?: boolean | undefined;
}

async function put(connection: Connection, { program, variables, bytes, title, sudo }: Put): Promise<void> {
  const session = await startProgram(connection, {
    program,
    input: bytes,
    sudo,
    variables: { ...variables, tag: randomBytes(8).toString('hex'), total: bytes.length },
  });
  try {
    for await (const frame of session.frames) {
      if (frame.kind !== 'line') continue;
      if (frame.words[0] === 'end') return;
      const where = describeTarget(connection.target);
      throw new PluginError(
        'Invalid',
        `cannot write ${title} on ${where}: ${frame.words.slice(1).join(' ')}`,
      );
    }
  } finally {
    session.close();
  }
  await explainSilence(session, connection, sudo);
  throw connectionLost(connection.target);
}
