/**
 * Where the logs of tasks are: too large for workflow histories, and only growing. A worker appends, the
 * command line reads.
 */
export interface LogStore {
  /**
   * Appends whole lines to a log, which is created if absent. A log at its limit drops further output and ends
   * with a notice. @returns `full` if the log was ever cut. @throws StoreError unless the name is
   * `<clusterUid>/<nodeId>/<file>.log`.
   */
  append(log: string, chunk: Uint8Array): Promise<'full' | void>;
  /** No line follows for now: what is on its way goes on at once. */
  flush(log: string): void;
  /** Sends what it still can. */
  close(): Promise<void>;
}

/** Reads logs, while they grow too. */
export interface LogArchive {
  /** For people. */
  readonly place: string;
  /** How long a line may take from a worker to here, in ms. */
  readonly lagMs: number;
  /** The days on which logs of a cluster were written, oldest first. */
  days(clusterUid: string): Promise<readonly string[]>;
  /** What was written on a day. */
  find(scope: LogScope): Promise<readonly StoredLog[]>;
}

/** Logs are kept by the day of their lines, so that recent ones are found among any number of old ones. */
export interface LogScope {
  readonly clusterUid: string;
  /** As {@link dayOf} gives it. */
  readonly day: string;
  readonly nodeId?: string;
  /** What the names of the files begin with. */
  readonly file?: string;
}

/** The part of a log that was written on one day, by one worker where the archive tells them apart. */
export interface StoredLog {
  readonly log: string;
  /** Differs from those of all other parts and logs, and stays the same while it grows. */
  readonly id: string;
  /** In bytes, when it was found. */
  readonly size: number;
  /** Not before its last line, in ms since the epoch. */
  readonly changedAt: number;
  /** Up to `length` bytes from `offset`; none at its end. */
  read(range: ByteRange): Promise<Uint8Array>;
}

export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** An illegal name, or a place that cannot be read or written. */
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
    `${JSON.stringify(name.slice(0, 300))} is not a log's name: <clusterUid>/<nodeId>/<file>.log, each of letters, digits and . _ # @ + -`,
  );
}

const dayPattern = /^\d{4}-\d\d-\d\d$/;

/** The day of a moment, in UTC: `2026-11-27`. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

export function isDay(name: string): boolean {
  return dayPattern.test(name);
}

/** Where the present lines of a log go: `<clusterUid>/<day>/<nodeId>/<file>.log`. @throws StoreError */
export function currentPath(log: string): string {
  const [clusterUid, nodeId, file] = parseLogName(log);
  return [clusterUid, dayOf(Date.now()), nodeId, file].join('/');
}

/** The name of the log with that path; undefined if it is none. */
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

/** The path of what a scope names, up to its folder: `<clusterUid>/<day>[/<nodeId>]`. @throws StoreError */
export function folderOf({ clusterUid, day, nodeId }: LogScope): string {
  const parts = [clusterUid, day, ...(nodeId === undefined ? [] : [nodeId])];
  if (isDay(day) && parts.every(isPart)) return parts.join('/');
  throw new StoreError(`${JSON.stringify(parts.join('/').slice(0, 300))} is no place of logs`);
}

/** @throws StoreError */
export function requireUid(clusterUid: string): string {
  if (isPart(clusterUid)) return clusterUid;
  throw new StoreError(`${JSON.stringify(clusterUid.slice(0, 300))} is no uid of a cluster`);
}
