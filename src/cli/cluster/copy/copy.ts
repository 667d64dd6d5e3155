import { mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { anySignal } from '../../../model/signals.js';
import { PluginError } from '../../../plugins/errors.js';
import { wordsForFileError, wordsForWriteError } from '../../../schema/read-text.js';
import type { CopyDocument } from '../../../schema/output/task.js';
import { connect } from '../../../ssh/connect.js';
import type { Connection } from '../../../ssh/connection.js';
import { readFiles, writeFiles } from '../../../ssh/copy.js';
import { ArchiveError } from '../../../store/archive/entry.js';
import { packStream } from '../../../store/archive/pack-stream.js';
import { StreamUnpacker, type Unpacked } from '../../../store/archive/unpack-stream.js';
import { cleanLine } from '../../clean-text.js';
import type { ServerOptions } from '../../configuration.js';
import { CliError } from '../../errors.js';
import { catchInterrupt } from '../../interrupts.js';
import type { Session } from '../../session.js';
import { verb } from '../../verb.js';
import { findNodeTarget } from '../node-target.js';
import { describeAmount, withProgress } from './copy-progress.js';
import { findDestination, placeTree } from './place-tree.js';
import { nameOf, type NodePlace, readCopy, textOfPlace } from './places.js';

type CopyOptions = ServerOptions & { readonly sudo?: true };

/** Warnings of what is left out. */
const mostShown = 10;

/** Copies a file or a folder from a node to this computer, or back. */
export const cp = verb(
  async (session, source: string, target: string, { sudo }: CopyOptions): Promise<CopyDocument> => {
    const { direction, place, local } = readCopy(source, target);
    const login = await findNodeTarget(session, place.cluster, place.node);
    const { signal, release } = catchInterrupt();
    const work = { session, signal, sudo };
    try {
      const connection = await connect(login, { signal });
      try {
        return direction === 'to node'
          ? await copyTo(connection, work, local, place)
          : await copyFrom(connection, work, place, local);
      } finally {
        connection.close();
      }
    } catch (error) {
      throw signal.aborted
        ? new CliError(
            'Interrupted',
            `the copy was interrupted; ${cleanLine(target)} is unchanged unless all of it had arrived`,
            { cause: error },
          )
        : explain(error, source);
    } finally {
      release();
    }
  },
  {
    print: (output, { target, skipped, ...amount }) => {
      for (const what of skipped.slice(0, mostShown)) output.note(`warning: not copied: ${cleanLine(what)}`);
      const more = skipped.length - mostShown;
      if (more > 0) output.note(`warning: not copied: ${more} more, which --json lists`);
      output.line(`${target}: ${describeAmount(amount)}`);
    },
  },
);

interface Work {
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly sudo: true | undefined;
}

async function copyFrom(
  connection: Connection,
  { session: { output }, signal, sudo }: Work,
  from: NodePlace,
  to: string,
): Promise<CopyDocument> {
  const { path, base } = await findDestination(to, nameOf(from.path));
  const temporary = await mkdtemp(join(base, '.heddle-cp-')).catch((cause: unknown) => {
    throw new CliError('Invalid', `cannot write to ${base}: ${wordsForWriteError(cause)}`, { cause });
  });
  try {
    const content = join(temporary, 'content');
    const unpacker = new StreamUnpacker(content);
    const broken = new AbortController();
    let kind: 'file' | 'folder' = 'folder';
    const changed = await withProgress(
      output,
      textOfPlace(from),
      () => unpacker,
      () =>
        readFiles(connection, {
          path: from.path,
          sudo,
          signal: anySignal([signal, broken.signal]),
          onKind: (said) => (kind = said === 'file' ? 'file' : 'folder'),
          onChunk: (chunk) => {
            unpacker.write(chunk);
            if (unpacker.failure !== undefined) broken.abort(unpacker.failure);
          },
        }),
    );
    const { files, bytes, skipped }: Unpacked = unpacker.end();
    await placeTree(content, kind, path);
    for (const line of changed) output.note(`warning: ${cleanLine(line)}`);
    return { source: textOfPlace(from), target: path, files, bytes, skipped };
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

async function copyTo(
  connection: Connection,
  { session: { output }, signal, sudo }: Work,
  from: string,
  to: NodePlace,
): Promise<CopyDocument> {
  const unreadable = (cause: unknown): Error =>
    new CliError('Invalid', `${fileOf(cause) ?? from} cannot be read: ${wordsForFileError(cause)}`, {
      cause,
    });
  const about = await stat(from).catch((cause: unknown) => {
    throw unreadable(cause);
  });
  if (!about.isDirectory() && !about.isFile())
    throw new CliError('Invalid', `${from} cannot be copied: it is neither a file nor a folder`);
  const amount = { files: 0, bytes: 0 };
  const skipped: string[] = [];
  let failure: Error | undefined;
  const archive = Readable.from(
    packStream(from, {
      onFile: () => void amount.files++,
      onBytes: (count) => void (amount.bytes += count),
      onSkip: (path) => skipped.push(`${JSON.stringify(path)} is neither a file nor a folder nor a link`),
      onFailure: (cause) => (failure = unreadable(cause)),
    }),
  );
  const kind = about.isDirectory() ? 'folder' : 'file';
  await withProgress(
    output,
    textOfPlace(to),
    () => amount,
    () => writeFiles(connection, archive, { path: to.path, kind, name: nameOf(from), sudo, signal }),
  ).catch((error: unknown) => {
    throw failure ?? error;
  });
  return { source: from, target: textOfPlace(to), ...amount, skipped };
}

function explain(error: unknown, source: string): unknown {
  if (error instanceof PluginError) return new CliError('Failed', error.message, { cause: error });
  if (error instanceof ArchiveError)
    return new CliError(
      'Failed',
      `what the node sent for ${cleanLine(source)} was refused: ${error.message}`,
      { cause: error },
    );
  if (error instanceof Error && 'syscall' in error) {
    const file = fileOf(error);
    const what = file === undefined ? 'the copy' : cleanLine(file);
    return new CliError('Failed', `${what} cannot be written here: ${wordsForWriteError(error)}`, {
      cause: error,
    });
  }
  return error;
}

/** The file that an error of the file system is about. */
function fileOf(error: unknown): string | undefined {
  return error instanceof Error && 'path' in error && typeof error.path === 'string' ? error.path : undefined;
}
