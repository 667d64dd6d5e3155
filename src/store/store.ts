/**
 * Where bytes are kept that are too large for workflow histories: logs of tasks, plugin resources, files of
 * specs. Content is stored whole under its digest and never changes; logs grow at their end.
 */
export interface Store {
  /** Keeps content; the same content twice is one. */
  put(content: Uint8Array): Promise<Digest>;
  /**
   * Adds to a log's end, making the log when there is none. A log that reached its limit keeps its beginning,
   * as far as its lines are whole: what comes after is dropped, and a last line says so.
   * @returns `full` when the log was cut, now or before, and takes no more.
   * @throws StoreError for a name that is not `<clusterUid>/<nodeId>/<file>.log`.
   */
  append(log: string, chunk: Uint8Array): Promise<'full' | void>;
  /**
   * Reads content by its digest, or a log, from `offset`, at most `length` bytes; fewer, or none, at the end.
   * @throws StoreError when there is no such content or log.
   */
  read(name: string, range: ByteRange): Promise<Uint8Array>;
  /** Size in bytes of content or a log; undefined when there is no such content or log. */
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
// No part begins with a dot: neither `..` nor hidden files nor what is being written.
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
