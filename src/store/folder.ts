import { createHash } from 'node:crypto';
import { constants, statSync } from 'node:fs';
import { mkdir, open, stat, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import { whyNotPrivate } from '../schema/trusted-path.js';
import { appendLimited } from './append-limited.js';
import { isDigest, parseLogName, StoreError, type ByteRange, type Digest, type Store } from './store.js';

export interface FolderStoreOptions {
  readonly folder: string;
  /** Largest log, in bytes; 64 MiB unless given. */
  readonly logLimit?: number;
}

const defaultLogLimit = 64 * 1024 * 1024;

/**
 * A store in a private folder: content under `sha256/<2 digits>/`, logs under `logs/`. @throws StoreError if
 * others have access to the folder.
 */
export function createFolderStore({ folder, logLimit = defaultLogLimit }: FolderStoreOptions): Store {
  const stat = statSync(folder, { throwIfNoEntry: false });
  const distrust = stat === undefined ? undefined : whyNotPrivate(folder, stat);
  if (distrust !== undefined)
    throw new StoreError(`${folder} ${distrust.wrong}, and holds the logs of tasks. ${distrust.right}`);
  return new FolderStore(folder, logLimit);
}

class FolderStore implements Store {
  readonly #folder: string;
  readonly #logLimit: number;

  constructor(folder: string, logLimit: number) {
    this.#folder = folder;
    this.#logLimit = logLimit;
  }

  async put(content: Uint8Array): Promise<Digest> {
    const digest: Digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
    const file = this.#fileOf(digest);
    if ((await sizeOf(file)) === content.length) return digest;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFileAtomic(file, Buffer.from(content), { mode: 0o600, fsync: false });
    return digest;
  }

  async append(log: string, chunk: Uint8Array): Promise<'full' | void> {
    const file = this.#logFile(log);
    const work = {
      file,
      chunk,
      limit: this.#logLimit,
      notice: `\n[heddle: this log was cut at ${this.#logLimit} bytes]\n`,
    };
    try {
      return appendLimited(work);
    } catch (error) {
      if (!isAbsent(error)) throw error;
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      return appendLimited(work);
    }
  }

  async read(name: string, { offset, length }: ByteRange): Promise<Uint8Array> {
    const handle = await open(this.#fileOf(name), constants.O_RDONLY | constants.O_NOFOLLOW).catch(
      (cause: unknown) => {
        throw isAbsent(cause)
          ? new StoreError(`${name} is not in ${this.#folder}; it may be on another worker, or removed`, {
              cause,
            })
          : cause;
      },
    );
    try {
      const { size } = await handle.stat();
      return await readRange(handle, offset, Math.max(0, Math.min(length, size - offset)));
    } finally {
      await handle.close();
    }
  }

  async size(name: string): Promise<number | undefined> {
    return sizeOf(this.#fileOf(name));
  }

  #fileOf(name: string): string {
    if (!isDigest(name)) return this.#logFile(name);
    const hex = name.slice('sha256:'.length);
    return join(this.#folder, 'sha256', hex.slice(0, 2), hex);
  }

  #logFile(name: string): string {
    return join(this.#folder, 'logs', ...parseLogName(name));
  }
}

async function readRange(handle: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
