/**
 * Storage for task logs, which are append-only and too large for workflow histories. Workers
 * append, the CLI reads.
 */
export interface LogStore {
  /**
   * Appends whole lines to a log, which is created if absent. A log at its limit drops further
   * output and ends with a notice. @returns `full` if the log was ever cut. @throws StoreError
   * if the name is not `<clusterUid>/<nodeId>/<file>.log`.
   */
  append(log: string, chunk: Uint8Array): Promise<'full' | void>;
  /** Signals that no line follows for now: pending lines are sent at once. */
  flush(log: string): void;
  /** Sends pending lines, within a time limit. */
  close(): Promise<void>;
}

/** Reads logs, also while they grow. */
export interface LogArchive {
  /** The location, for users. */
  readonly place: string;
  /** Maximum delay until a worker's line can be read, in ms. */
  readonly lagMs: number;
  /** The days on which logs of a cluster were written, oldest first. */
  days(clusterUid: string): Promise<readonly string[]>;
  /** The logs of a day. */
  find(scope: LogScope): Promise<readonly StoredLog[]>;
}

/** Logs are stored by day, so that recent ones are found quickly among any number of old ones. */
export interface LogScope {
  readonly clusterUid: string;
  /** As returned by {@link dayOf}. */
  readonly day: string;
  readonly nodeId?: string;
  /** Prefix of the file names. */
  readonly file?: string;
}

/** The part of a log that was written on one day, and by one worker if the archive distinguishes workers. */
export interface StoredLog {
  readonly log: string;
  /** Unique among all parts of all logs, and constant while the part grows. */
  readonly id: string;
  /** In bytes, at the time of the search. */
  readonly size: number;
  /** Time of the last change, in ms since the epoch; never earlier than the last line. */
  readonly changedAt: number;
  /** Up to `length` bytes from `offset`; none at its end. */
  read(range: ByteRange): Promise<Uint8Array>;
}

export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** An invalid name, or a location that cannot be read or written. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

// No part begins with a dot: neither `..` nor hidden files nor incomplete files.
const partPattern = /^[A-Za-z0-9_][A-Za-z0-9._#@+-]{0,199}$/;

/** Whether it can be a part of a log's name, such as a node. */
export function isPart(text: string): boolean {
  return partPattern.test(text);
}

/** The parts of a log's name. @throws StoreError */
function parseLogName(name: string): readonly [clusterUid: string, nodeId: string, file: string] {
  const [clusterUid = '', nodeId = '', file = '', ...more] = name.split('/');
  if (more.length === 0 && [clusterUid, nodeId, file].every(isPart) && file.endsWith('.log'))
    return [clusterUid, nodeId, file];
  throw new StoreError(
    `${JSON.stringify(name.slice(0, 300))} is not a valid name of a log: it must be <clusterUid>/<nodeId>/<file>.log, each of letters, digits and . _ # @ + -`,
  );
}

const dayPattern = /^\d{4}-\d\d-\d\d$/;

/** The day of a time, in UTC: `2026-11-27`. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

export function isDay(name: string): boolean {
  return dayPattern.test(name);
}

/** The path for new lines of a log: `<clusterUid>/<day>/<nodeId>/<file>.log`. @throws StoreError */
export function currentPath(log: string): string {
  const [clusterUid, nodeId, file] = parseLogName(log);
  return [clusterUid, dayOf(Date.now()), nodeId, file].join('/');
}

/** The name of the log at a path; undefined if the path is not that of a log. */
export function logAt(path: string): string | undefined {
  const [clusterUid = '', day = '', ...rest] = path.split('/');
  const log = [clusterUid, ...rest].join('/');
  return isDay(day) && isLogName(log) ? log : undefined;
}

function isLogName(name: string): boolean {
  try {
    parseLogName(name);
    return true;
  } catch {
    return false;
  }
}

/** The folder of a scope: `<clusterUid>/<day>[/<nodeId>]`. @throws StoreError */
export function folderOf({ clusterUid, day, nodeId }: LogScope): string {
  const parts = [clusterUid, day, ...(nodeId === undefined ? [] : [nodeId])];
  if (isDay(day) && parts.every(isPart)) return parts.join('/');
  throw new StoreError(`${JSON.stringify(parts.join('/').slice(0, 300))} is not a valid folder of logs`);
}

/** @throws StoreError */
export function requireUid(clusterUid: string): string {
  if (isPart(clusterUid)) return clusterUid;
  throw new StoreError(`${JSON.stringify(clusterUid.slice(0, 300))} is not a valid uid of a cluster`);
}
