import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { ResourceFormat } from '../../model/artifact/reference.js';
import { ArchiveError, archiveLimits } from '../../store/archive/entry.js';
import { readArchive } from '../../store/archive/read-archive.js';
import { readFolder } from '../../store/archive/read-folder.js';
import { writeArchive } from '../../store/archive/write-archive.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { verb } from '../verb.js';
import { wordsForFileError } from '../../schema/read-text.js';

interface PutOptions extends ServerOptions {
  readonly set?: boolean;
}

/** Stores a file or a folder as a version of a resource. */
export async function put(name: string, path: string, options: PutOptions): Promise<number> {
  return putContent(name, await readContent(path), options);
}

const putContent = verb(
  async ({ client: { resources } }, name: string, content: PackedContent, options: PutOptions) => {
    const version = await resources.put(name, content);
    const record =
      options.set === true ? await resources.set(name, version.version) : (await resources.catalogue())[name];
    return { name, ...version, set: record?.set ?? null };
  },
  {
    worker: true,
    print: (output, { name, version, format, bytes, digest, set }) => {
      output.line(`resource ${name}: version ${version}, ${format} of ${bytes} bytes, ${digest}`);
      output.line(
        set === version
          ? 'It is set: clusters use it from their next apply.'
          : `${set === null ? 'None' : `Version ${set}`} is set. To change that:  heddle resource set ${name} ${version}`,
      );
    },
  },
);

export interface PackedContent {
  readonly format: ResourceFormat;
  readonly bytes: Uint8Array;
}

/**
 * Reads a folder or a tar archive as an archive, and any other file unchanged; - reads a file from standard
 * input. Archives are repacked, so that the same files give the same content.
 * @throws CliError Invalid, naming what cannot be stored.
 */
export async function readContent(path: string): Promise<PackedContent> {
  try {
    if (path === '-') return { format: 'file', bytes: await readAll(process.stdin, 'standard input') };
    const found = await stat(path);
    if (found.isDirectory())
      return { format: 'archive', bytes: fitting(writeArchive(await readFolder(path))) };
    if (!found.isFile()) throw new CliError('Invalid', `${path} is neither a file nor a folder`);
    const bytes = await readAll(createReadStream(path), path);
    if (!/\.(tar|tgz|tar\.gz)$/i.test(path)) return { format: 'file', bytes };
    return { format: 'archive', bytes: fitting(writeArchive(await readArchive(bytes))) };
  } catch (error) {
    if (error instanceof ArchiveError)
      throw new CliError('Invalid', `${path} ${error.message}`, { cause: error });
    if (error instanceof Error && 'code' in error)
      throw new CliError('Invalid', `${path} cannot be read: ${wordsForFileError(error)}`, { cause: error });
    throw error;
  }
}

async function readAll(stream: AsyncIterable<unknown>, name: string): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const piece = Buffer.from(chunk as Buffer);
    bytes += piece.length;
    if (bytes > archiveLimits.bytes)
      throw new CliError(
        'Invalid',
        `${name} is larger than ${archiveLimits.bytes} bytes, the maximum size of a resource; store it where nodes can download it`,
      );
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}

function fitting(archive: Uint8Array): Uint8Array {
  if (archive.length <= archiveLimits.bytes) return archive;
  throw new ArchiveError(
    `has ${archive.length} bytes as an archive; the maximum size of a resource is ${archiveLimits.bytes} bytes; store it where nodes can download it`,
  );
}
