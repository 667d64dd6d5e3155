import { constants, statSync } from 'node:fs';
import { mkdir, open, readdir, type FileHandle } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { whyNotPrivate } from '../schema/trusted-path.js';
import { appendLimited } from './append-limited.js';
import {
  parseLogName,
  parseLogPrefix,
  StoreError,
  type ByteRange,
  type LogArchive,
  type LogStore,
  type StoredLog,
} from './store.js';

export interface FolderStoreOptions {
  readonly folder: string;
  /** Largest log, in bytes; 64 MiB unless given. */
  readonly logLimit?: number;
}

export const defaultLogLimit = 64 * 1024 * 1024;

/** Logs under `logs/` of a private folder. @throws StoreError if others have access to the folder. */
export function createFolderStore({ folder, logLimit = defaultLogLimit }: FolderStoreOptions): LogStore {
  requirePrivate(folder);
  return {
    async append(log, chunk) {
      const file = join(folder, 'logs', ...parseLogName(log));
      const work = { file, chunk, limit: logLimit, notice: cutNotice(logLimit) };
      try {
        return appendLimited(work);
      } catch (error) {
        if (!isAbsent(error)) throw error;
        await mkdir(dirname(file), { recursive: true, mode: 0o700 });
        return appendLimited(work);
      }
    },
    flush: () => undefined,
    close: () => Promise.resolve(),
  };
}

export function cutNotice(limit: number): string {
  return `\n[heddle: this log was cut at ${limit} bytes]\n`;
}

/** @throws StoreError */
export function requirePrivate(folder: string): void {
  const stat = statSync(folder, { throwIfNoEntry: false });
  const distrust = stat === undefined ? undefined : whyNotPrivate(folder, stat);
  if (distrust !== undefined)
    throw new StoreError(`${folder} ${distrust.wrong}, and holds the logs of tasks. ${distrust.right}`);
}

/** Reads the logs of a folder store, with any number of writers at work. */
export function openFolderArchive(folder: string): LogArchive {
  const logs = join(folder, 'logs');
  return {
    place: folder,
    lagMs: 0,
    async find(prefix) {
      const place = join(logs, ...parseLogPrefix(prefix));
      const files = prefix.endsWith('.log') ? [place] : await filesIn(place);
      return files.flatMap((file) => storedLog(logs, file));
    },
  };
}

function storedLog(logs: string, file: string): readonly StoredLog[] {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isFile() !== true) return [];
  const log = relative(logs, file).replaceAll('\\', '/');
  const { size, mtimeMs: changedAt } = found;
  return [{ log, id: log, size, changedAt, read: (range) => readFileRange(file, range) }];
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.log'))
    .map(({ parentPath, name }) => join(parentPath, name));
}

/** @throws Error ENOENT */
export async function readFileRange(file: string, { offset, length }: ByteRange): Promise<Uint8Array> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size } = await handle.stat();
    return await readRange(handle, offset, Math.max(0, Math.min(length, size - offset)));
  } finally {
    await handle.close();
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

export function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
