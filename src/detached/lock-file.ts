import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { hasErrorCode } from '../model/system-error.js';
import { isRunning, markOf, type ProcessMark } from './process-mark.js';

/** The lock of this process on a file. */
export interface HeldLock {
  /** Replaces what the file says beside its owner. */
  write(data: object): Promise<void>;
  release(): Promise<void>;
}

/** The content of a lock file that another process holds. */
export interface LockRecord {
  readonly owner: ProcessMark;
  /** What the owner wrote; the reader validates it. */
  readonly data: Readonly<Record<string, unknown>>;
}

export interface LockOptions {
  /** Whether the lock may be taken over; by default once its owner has ended. */
  readonly isStale?: (record: LockRecord) => Promise<boolean>;
  /** Called before a stale lock is taken over. */
  readonly onStale?: (record: LockRecord) => Promise<void>;
}

/**
 * Takes a lock file, unless a running process of this host holds it. Of several processes one
 * takes over a lock whose owner has ended.
 * @returns the lock, or the record of the process that holds it
 * @throws Error if the file cannot be written, or is not a lock file.
 */
export async function takeLock(
  file: string,
  { isStale = hasEnded, onStale }: LockOptions = {},
): Promise<HeldLock | LockRecord> {
  const owner = await markOf(process.pid);
  if (owner === undefined)
    throw new Error(`process ${process.pid} is not in the process table, which the lock ${file} requires`);
  for (;;) {
    if (await linkNew(file, { owner, data: {} })) return held(file, owner);
    const text = await readIfThere(file);
    if (text === undefined) continue;
    const record = parseRecord(file, text);
    if (!(await isStale(record))) return record;
    // Only the holder of the second lock replaces the first one, and it reads again what it replaces.
    const second = `${file}.stale`;
    const taken = await takeLock(second, { isStale: endedLongAgo(second) });
    if (!isHeld(taken)) return taken;
    try {
      if ((await readIfThere(file)) !== text) continue;
      await onStale?.(record);
      await replace(file, { owner, data: {} });
      return held(file, owner);
    } finally {
      await taken.release();
    }
  }
}

/**
 * Staleness for a lock that is held shortly and that processes of other containers, which seem
 * to have ended, share.
 */
export function endedLongAgo(file: string): (record: LockRecord) => Promise<boolean> {
  return async (record) => (await hasEnded(record)) && (await ageOf(file)) > longestHoldMs;
}

async function hasEnded({ owner }: LockRecord): Promise<boolean> {
  return !(await isRunning(owner));
}

const longestHoldMs = 10_000;

export function isHeld(lock: HeldLock | LockRecord): lock is HeldLock {
  return 'release' in lock;
}

function held(file: string, owner: ProcessMark): HeldLock {
  return {
    write: (data) => replace(file, { owner, data: { ...data } }),
    release: async () => {
      // A process of another container may have taken it over.
      const text = await readIfThere(file);
      if (text !== undefined && isSame(parseRecord(file, text).owner, owner)) await rm(file, { force: true });
    },
  };
}

function isSame(one: ProcessMark, other: ProcessMark): boolean {
  return one.pid === other.pid && one.started === other.started;
}

/** A hard link appears with its content or not at all, and for one process only. */
async function linkNew(file: string, record: LockRecord): Promise<boolean> {
  const temporary = await writeTemporary(file, record);
  try {
    await link(temporary, file);
    return true;
  } catch (error) {
    if (hasErrorCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function replace(file: string, record: LockRecord): Promise<void> {
  await rename(await writeTemporary(file, record), file);
}

async function writeTemporary(file: string, { owner, data }: LockRecord): Promise<string> {
  const temporary = `${file}.${randomUUID()}`;
  try {
    await writeFile(temporary, `${JSON.stringify({ owner, ...data }, null, 2)}\n`, { mode: 0o600 });
    return temporary;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (hasErrorCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function ageOf(file: string): Promise<number> {
  const found = await stat(file).catch(() => undefined);
  return found === undefined ? 0 : Date.now() - found.mtimeMs;
}

function parseRecord(file: string, text: string): LockRecord {
  try {
    const { owner, ...data } = JSON.parse(text) as { readonly owner: ProcessMark };
    if (Number.isInteger(owner.pid) && typeof owner.started === 'string') return { owner, data };
    throw new Error('it contains no process');
  } catch (cause) {
    throw new Error(`${file} is not a lock file of Heddle; remove it if no process uses it`, { cause });
  }
}
