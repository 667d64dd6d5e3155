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
  /** The logs whose names begin with this: the uid of a cluster, or a whole name. */
  find(prefix: string): Promise<readonly StoredLog[]>;
}

/** A log, or the part of it that one worker wrote. */
export interface StoredLog {
  readonly log: string;
  /** Differs from those of all other parts and logs, and stays the same while it grows. */
  readonly id: string;
  /** In bytes, when it was found. */
  readonly size: number;
  /** Of its last line, in ms since the epoch; absent where that is unknown. */
  readonly changedAt?: number;
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

/** The parts of a log's name. @throws StoreError */
export function parseLogName(name: string): readonly [clusterUid: string, nodeId: string, file: string] {
  const [clusterUid = '', nodeId = '', file = '', ...more] = name.split('/');
  if (
    more.length === 0 &&
    [clusterUid, nodeId, file].every((part) => partPattern.test(part)) &&
    file.endsWith('.log')
  )
    return [clusterUid, nodeId, file];
  throw new StoreError(
    `${JSON.stringify(name.slice(0, 300))} is not a log's name: <clusterUid>/<nodeId>/<file>.log, each of letters, digits and . _ # @ + -`,
  );
}

/** The parts of what names of logs begin with. @throws StoreError */
export function parseLogPrefix(prefix: string): readonly string[] {
  const parts = prefix.split('/');
  if (parts.length <= 3 && parts.every((part) => partPattern.test(part))) return parts;
  throw new StoreError(`${JSON.stringify(prefix.slice(0, 300))} begins no log's name`);
}
