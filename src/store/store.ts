/**
 * Storage for bytes too large for workflow histories: logs of tasks, plugin resources, files of specs.
 * Content is immutable and named by its digest; logs only grow.
 */
export interface Store {
  /** Keeps content; the same content twice is one. */
  put(content: Uint8Array): Promise<Digest>;
  /**
   * Appends to a log, which is created if absent. A log at its limit drops further output and ends with a
   * notice. @returns `full` if the log was ever cut. @throws StoreError unless the name is
   * `<clusterUid>/<nodeId>/<file>.log`.
   */
  append(log: string, chunk: Uint8Array): Promise<'full' | void>;
  /** Reads up to `length` bytes of content or a log from `offset`. @throws StoreError if there is none. */
  read(name: string, range: ByteRange): Promise<Uint8Array>;
  /** Size in bytes of content or a log; undefined if it does not exist. */
  size(name: string): Promise<number | undefined>;
}

/** Names content: `sha256:` and 64 hexadecimal digits. */
export type Digest = `sha256:${string}`;

export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** A name that is illegal, or nothing under it. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}

const digestPattern = /^sha256:[0-9a-f]{64}$/;
// No part begins with a dot: neither `..` nor hidden files nor incomplete files.
const partPattern = /^[A-Za-z0-9_][A-Za-z0-9._#@+-]{0,199}$/;

export function isDigest(name: string): name is Digest {
  return digestPattern.test(name);
}

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
