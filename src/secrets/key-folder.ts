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
import { hasErrorCode, isSystemError } from '../model/system-error.js';
import { makeFolder } from '../schema/make-folder.js';
import { isDiskFull, readTextFile, wordsForFileError, wordsForWriteError } from '../schema/read-text.js';
import { describeDistrust, whyOpen } from '../schema/trusted-path.js';
import { formatKeys, KeyError, MissingKeyError, parseKeys, type KeyDocument } from './key-document.js';

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
  const folderStat = statIfPresent(folder);
  if (folderStat === undefined) return undefined;
  refuseAccessOfOthers(folder, folderStat);
  const fileStat = statIfPresent(file);
  if (fileStat === undefined) return undefined;
  refuseAccessOfOthers(file, fileStat);
  const read = readTextFile(file, maxKeyBytes);
  if (!read.ok && read.missing === true) return undefined;
  if (!read.ok) throw readError(file, read.wrong);
  return { document: parseKeys(read.text, file), stamp: stampOf(fileStat) };
}

function statIfPresent(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    throw readError(path, wordsForFileError(error), error);
  }
}

function readError(path: string, wrong: string, cause?: unknown): KeyError {
  return new KeyError(`${path} cannot be read: ${wrong}`, { cause });
}

/**
 * Changes when the key ring is replaced; undefined if there is none. @throws KeyError if it cannot be read.
 */
export function keyFolderStamp(folder: string): string | undefined {
  const stat = statIfPresent(keyFile(folder));
  return stat === undefined ? undefined : stampOf(stat);
}

/** Writes the first ring. If several processes try, one succeeds and the others get false. */
export function createKeyFolder(folder: string, document: KeyDocument): boolean {
  if (!writeFirstRing(folder, document)) return false;
  flushFolder(folder);
  return true;
}

function writeFirstRing(folder: string, document: KeyDocument): boolean {
  const createError = (error: unknown): unknown =>
    writeError(
      folder,
      error,
      'Specify another folder with keys.folder in heddle.yaml, or with HEDDLE_DATA_FOLDER',
    );
  try {
    makeFolder(folder);
    refuseAccessOfOthers(folder, statSync(folder, { bigint: true }));
  } catch (error) {
    throw createError(error);
  }
  const temporary = temporaryFileIn(folder);
  try {
    writeNewFile(temporary, document);
    linkSync(temporary, keyFile(folder));
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return false;
    throw createError(error);
  } finally {
    removeQuietly(temporary);
  }
}

/**
 * Replaces a ring atomically, under a lock. @throws KeyError if there is none, or if another process holds
 * the lock for 15 s.
 */
export async function updateKeyFolder(
  folder: string,
  change: (document: KeyDocument) => KeyDocument,
): Promise<KeyDocument> {
  const lock = await lockFolder(folder);
  try {
    const stored = readKeyFolder(folder);
    if (stored === undefined)
      throw new MissingKeyError(
        `${folder} contains no keys. Import the keys in use with 'heddle keys import', or create the first key of a new server with 'heddle keys create'.`,
      );
    const changed = change(stored.document);
    replaceRing(folder, changed);
    return changed;
  } finally {
    await lock.release();
  }
}

function replaceRing(folder: string, document: KeyDocument): void {
  const temporary = temporaryFileIn(folder);
  try {
    writeNewFile(temporary, document);
    renameSync(temporary, keyFile(folder));
  } catch (error) {
    throw changeError(folder, error);
  } finally {
    removeQuietly(temporary);
  }
  flushFolder(folder);
}

function changeError(folder: string, cause: unknown): unknown {
  const state = 'The keys are unchanged';
  return writeError(
    folder,
    cause,
    isDiskFull(cause) ? `Free some space there and try again. ${state}` : state,
  );
}

/** Explains an error of the file system; returns others. */
function writeError(folder: string, cause: unknown, ending: string): unknown {
  if (!isSystemError(cause)) return cause;
  return new KeyError(`keys cannot be written to ${folder}: ${wordsForWriteError(cause)}. ${ending}`, {
    cause,
  });
}

function keyFile(folder: string): string {
  return join(folder, 'keys.json');
}

function stampOf(stat: BigIntStats): string {
  return `${stat.ino}:${stat.mtimeNs}:${stat.size}`;
}

function refuseAccessOfOthers(path: string, { mode }: BigIntStats): void {
  const distrust = whyOpen(path, { mode: Number(mode) });
  if (distrust !== undefined)
    throw new KeyError(
      `other users could read the keys: ${describeDistrust(distrust)}. Consider rotating the keys`,
    );
}

function temporaryFileIn(folder: string): string {
  return join(folder, `.keys-${process.pid}-${randomBytes(4).toString('hex')}`);
}

function writeNewFile(file: string, document: KeyDocument): void {
  writeFileSync(file, formatKeys(document), { mode: 0o600, flag: 'wx', flush: true });
}

function removeQuietly(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // The result of the write matters more.
  }
}

/** After a change of the keys. */
function flushFolder(folder: string): void {
  if (process.platform === 'win32') return;
  try {
    const descriptor = openSync(folder, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (cause) {
    throw new KeyError(
      `the keys in ${folder} are written, but a loss of power may undo that: ${wordsForFileError(cause)}`,
      { code: 'Encryption', cause },
    );
  }
}

async function lockFolder(folder: string): Promise<HeldLock> {
  const file = join(folder, 'keys.lock');
  for (const deadline = Date.now() + lockWaitMs; ;) {
    const lock = await takeLock(file, { isStale: endedLongAgo(file) }).catch((error: unknown) => {
      if (!hasErrorCode(error, 'ENOENT')) throw changeError(folder, error);
      throw new MissingKeyError(
        `${folder} does not exist. Import the keys in use with 'heddle keys import', or create the first key of a new server with 'heddle keys create'.`,
        { cause: error },
      );
    });
    if (isHeld(lock)) return lock;
    if (Date.now() > deadline)
      throw new KeyError(
        `${file} has been held by process ${lock.owner.pid} for more than ${lockWaitMs / 1000} s. Wait for the process or end it, and try again.`,
        { code: 'Encryption' },
      );
    await sleep(lockPollMs);
  }
}
