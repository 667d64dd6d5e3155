import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  type BigIntStats,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endedLongAgo, isHeld, takeLock, type HeldLock } from '../detached/lock-file.js';
import { makeFolder } from '../schema/make-folder.js';
import { readTextFile, wordsForWriteError } from '../schema/read-text.js';
import { formatKeys, KeyError, parseKeys, type KeyDocument } from './key-document.js';

/** A document as read from the folder, and a stamp that changes when the file is replaced. */
export interface StoredKeys {
  readonly document: KeyDocument;
  readonly stamp: string;
}

const maxKeyBytes = 1024 * 1024;

/** Longer than a lock of a process that has ended stays. */
const lockWaitMs = 15_000;
const lockPollMs = 20;

/**
 * Reads the key ring of a folder; undefined if there is none.
 * @throws KeyError if the folder or file is accessible to other users, or the file is malformed.
 */
export function readKeyFolder(folder: string): StoredKeys | undefined {
  const file = keyFile(folder);
  const folderStat = statSync(folder, { bigint: true, throwIfNoEntry: false });
  if (folderStat === undefined) return undefined;
  refuseOpenModes(folder, folderStat, '700');
  const fileStat = statSync(file, { bigint: true, throwIfNoEntry: false });
  if (fileStat === undefined) return undefined;
  refuseOpenModes(file, fileStat, '600');
  const read = readTextFile(file, maxKeyBytes);
  if (!read.ok && read.missing === true) return undefined;
  if (!read.ok) throw new KeyError(`${file} cannot be read: ${read.wrong}`, { invalid: true });
  return { document: parseKeys(read.text, file), stamp: stampOf(fileStat) };
}

/** Changes when the key ring is replaced; undefined if there is none. */
export function keyFolderStamp(folder: string): string | undefined {
  const stat = statSync(keyFile(folder), { bigint: true, throwIfNoEntry: false });
  return stat === undefined ? undefined : stampOf(stat);
}

/** Writes the first ring. If several processes try, one succeeds and the others get false. */
export function createKeyFolder(folder: string, document: KeyDocument): boolean {
  const temporary = writeFirst(folder, document);
  try {
    linkSync(temporary, keyFile(folder));
    syncFolder(folder);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function writeFirst(folder: string, document: KeyDocument): string {
  try {
    makeFolder(folder);
    refuseOpenModes(folder, statSync(folder, { bigint: true }), '700');
    return writeTemporary(folder, document);
  } catch (error) {
    if (error instanceof KeyError) throw error;
    throw new KeyError(
      `keys cannot be written to ${folder}: ${wordsForWriteError(error)}. Specify another folder with keys.folder in heddle.yaml, or with HEDDLE_DATA_FOLDER`,
      { invalid: true, cause: error },
    );
  }
}

/**
 * Replaces a ring atomically, under a lock. @throws KeyError if there is none, or if the lock is held for 10 s.
 */
export async function updateKeyFolder(
  folder: string,
  change: (document: KeyDocument) => KeyDocument,
): Promise<KeyDocument> {
  const lock = await lockFolder(folder);
  try {
    const stored = readKeyFolder(folder);
    if (stored === undefined)
      throw new KeyError(
        `${folder} contains no keys. Import the keys in use with 'heddle keys import', or create the first key of a new server with 'heddle keys create'.`,
      );
    const changed = change(stored.document);
    const temporary = writeTemporary(folder, changed);
    renameSync(temporary, keyFile(folder));
    syncFolder(folder);
    return changed;
  } finally {
    await lock.release();
  }
}

function keyFile(folder: string): string {
  return join(folder, 'keys.json');
}

function stampOf(stat: BigIntStats): string {
  return `${stat.ino}:${stat.mtimeNs}:${stat.size}`;
}

function refuseOpenModes(path: string, stat: BigIntStats, wanted: string): void {
  // Windows does not have these modes.
  if (process.platform === 'win32' || (stat.mode & 0o077n) === 0n) return;
  const mode = (stat.mode & 0o777n).toString(8).padStart(3, '0');
  throw new KeyError(
    `${path} has mode ${mode}: other users of this machine can read the keys. Run 'chmod ${wanted} "${path}"' and consider rotating the keys.`,
    { invalid: true },
  );
}

function writeTemporary(folder: string, document: KeyDocument): string {
  const temporary = join(folder, `.keys-${process.pid}-${randomBytes(4).toString('hex')}`);
  writeFileSync(temporary, formatKeys(document), { mode: 0o600, flag: 'wx', flush: true });
  return temporary;
}

function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

async function lockFolder(folder: string): Promise<HeldLock> {
  const file = join(folder, 'keys.lock');
  for (const deadline = Date.now() + lockWaitMs; ;) {
    const lock = await takeLock(file, { isStale: endedLongAgo(file) }).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
      throw new KeyError(
        `${folder} does not exist. Import the keys in use with 'heddle keys import', or create the first key of a new server with 'heddle keys create'.`,
        { cause: error },
      );
    });
    if (isHeld(lock)) return lock;
    if (Date.now() > deadline)
      throw new KeyError(
        `${file} has been held by process ${lock.owner.pid} for more than ${lockWaitMs / 1000} s. Wait for the process or end it, and try again.`,
      );
    await sleep(lockPollMs);
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
