import { constants, statSync } from 'node:fs';
import { open, readdir, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { whyNotPrivate } from '../schema/trusted-path.js';
import { appendLimited } from './append-limited.js';
import {
  currentPath,
  folderOf,
  isDay,
  logAt,
  requireUid,
  StoreError,
  type ByteRange,
  type LogArchive,
  type LogScope,
  type LogStore,
  type StoredLog,
} from './store.js';

export interface FolderStoreOptions {
  readonly folder: string;
  /** Maximum size of a log of one day, in bytes. Default: 64 MiB. */
  readonly logLimit?: number;
}

export const defaultLogLimit = 64 * 1024 * 1024;

/**
 * Stores logs under `logs/` of a private folder, by cluster, day and node. @throws StoreError
 * if other users have access to the folder.
 */
export function createFolderStore({ folder, logLimit = defaultLogLimit }: FolderStoreOptions): LogStore {
  requirePrivate(folder);
  return {
    append: async (log, chunk) =>
      appendLimited({
        file: join(folder, 'logs', ...currentPath(log).split('/')),
        chunk,
        limit: logLimit,
        notice: cutNotice(logLimit),
      }),
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
    throw new StoreError(`${folder} ${distrust.wrong}, but contains task logs. ${distrust.right}`);
}

/** Reads the logs of a folder store; any number of writers may append concurrently. */
export function openFolderArchive(folder: string): LogArchive {
  const logs = join(folder, 'logs');
  return {
    place: folder,
    lagMs: 0,
    async days(clusterUid) {
      return (await namesIn(join(logs, requireUid(clusterUid)))).filter((name) => isDay(name)).toSorted();
    },
    async find(scope) {
      return (await filesOf(logs, scope)).flatMap((path) => storedLog(logs, path));
    },
  };
}

/** The paths below `logs` of the files in a scope. Only names are read. */
async function filesOf(logs: string, scope: LogScope): Promise<readonly string[]> {
  const { nodeId, file = '' } = scope;
  const folder = folderOf(scope);
  if (nodeId !== undefined && file.endsWith('.log')) return [`${folder}/${file}`];
  const nodes = nodeId === undefined ? await namesIn(join(logs, folder)) : [];
  const folders = nodeId === undefined ? nodes.map((node) => `${folder}/${node}`) : [folder];
  const found: string[] = [];
  for (const path of folders)
    for (const name of await namesIn(join(logs, path)))
      if (name.startsWith(file)) found.push(`${path}/${name}`);
  return found;
}

function storedLog(logs: string, path: string): readonly StoredLog[] {
  const log = logAt(path);
  if (log === undefined) return [];
  const file = join(logs, ...path.split('/'));
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isFile() !== true) return [];
  const { size, mtimeMs: changedAt } = found;
  return [{ log, id: path, size, changedAt, read: (range) => readFileRange(file, range) }];
}

/** The names in a folder; none if it is absent. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
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
