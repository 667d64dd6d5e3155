import { join, posix } from 'node:path';
import { isAbsent } from '../append-limited.js';
import { defaultLogLimit, namesIn, readFileRange, requirePrivate } from '../folder.js';
import {
  folderOf,
  isDay,
  logAt,
  requireUid,
  type ByteRange,
  type LogArchive,
  type LogStore,
  type StoredLog,
} from '../store.js';
import type { Bucket, StoredObject } from './bucket.js';
import { Outbox, pieceId, type Piece } from './outbox.js';
import { keyOf, startSender } from './sender.js';

export interface S3StoreOptions {
  readonly bucket: Bucket;
  /** The store's folder on this machine; what is not sent yet is in it. */
  readonly folder: string;
  readonly report: (message: string) => void;
  /** Largest part of a log from one process and day, in bytes; 64 MiB unless given. */
  readonly logLimit?: number;
  /** Most bytes that wait while the bucket does not answer; 512 MiB unless given. */
  readonly outboxBytes?: number;
}

/**
 * Logs in a bucket. S3 has no append: a log consists of pieces, each an object, which wait on the worker's disk
 * until the bucket has them. So a bucket that does not answer disturbs no task, and a killed worker loses
 * nothing that a later one on its machine could not send.
 * @throws StoreError if others have access to the folder.
 */
export function createS3Store({
  bucket,
  folder,
  report,
  logLimit = defaultLogLimit,
  outboxBytes = 512 * 1024 * 1024,
}: S3StoreOptions): LogStore {
  requirePrivate(folder);
  const outbox = new Outbox({ folder: outboxOf(folder), logLimit });
  const sender = startSender({ outbox, bucket, outboxBytes, report });
  return {
    append: async (log, chunk) => outbox.append(log, chunk),
    flush(log) {
      outbox.close(log);
      sender.wake();
    },
    close: () => sender.close(),
  };
}

/** Reads logs from the bucket, and from this machine's folder what waits there. */
export function openS3Archive({ bucket, folder }: Pick<S3StoreOptions, 'bucket' | 'folder'>): LogArchive {
  const outbox = new Outbox({ folder: outboxOf(folder), logLimit: 0 });
  return {
    place: bucket.place,
    lagMs: 10_000,
    async days(clusterUid) {
      // What is sent in between is found in the bucket, which is asked last.
      const waiting = await namesIn(join(outboxOf(folder), requireUid(clusterUid)));
      const stored = await bucket.listFolders(`logs/${clusterUid}/`);
      return [...new Set([...waiting, ...stored])].filter((name) => isDay(name)).toSorted();
    },
    async find(scope) {
      const { nodeId, file = '' } = scope;
      const path = folderOf(scope);
      const waiting = await outbox.pieces(path);
      const objects = await bucket.list(`logs/${path}/${nodeId === undefined ? '' : file}`);
      const sent = objects.flatMap((object) => sentPiece(object));
      const known = new Set(sent.map(({ id }) => id));
      const pieces = [...sent, ...waiting.filter(({ id }) => !known.has(id))];
      return joinPieces(
        pieces.filter((piece) => posix.basename(piece.path).startsWith(file)),
        bucket,
      );
    },
  };
}

function outboxOf(folder: string): string {
  return join(folder, 'outbox');
}

/** A piece without a file is in the bucket. */
type PlacedPiece = Pick<Piece, 'path' | 'id' | 'size' | 'writer' | 'changedAt'> & { readonly file?: string };

/** None for objects that are not ours. */
function sentPiece({ key, size, storedAt: changedAt }: StoredObject): readonly PlacedPiece[] {
  const [, path = '', id = ''] = /^logs\/(.*)\/([^/]*)$/.exec(key) ?? [];
  const writer = pieceId.exec(id)?.[1];
  return writer === undefined ? [] : [{ path, id, size, writer, changedAt }];
}

/** One log for each writer: its pieces follow each other. */
function joinPieces(pieces: readonly PlacedPiece[], bucket: Bucket): readonly StoredLog[] {
  const logs = new Map<string, PlacedPiece[]>();
  for (const piece of pieces.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const id = `${piece.path}/${piece.writer}`;
    const known = logs.get(id);
    if (known === undefined) logs.set(id, [piece]);
    else known.push(piece);
  }
  return [...logs].flatMap(([id, own]) => {
    const log = logAt(own[0]?.path ?? '');
    if (log === undefined) return [];
    return {
      id,
      log,
      size: own.reduce((sum, { size }) => sum + size, 0),
      changedAt: Math.max(...own.map(({ changedAt }) => changedAt)),
      read: (range: ByteRange) => readPieces(own, range, bucket),
    };
  });
}

async function readPieces(
  pieces: readonly PlacedPiece[],
  { offset, length }: ByteRange,
  bucket: Bucket,
): Promise<Uint8Array> {
  let begin = 0;
  for (const piece of pieces) {
    if (offset < begin + piece.size)
      return readPiece(
        piece,
        { offset: offset - begin, length: Math.min(length, begin + piece.size - offset) },
        bucket,
      );
    begin += piece.size;
  }
  return new Uint8Array();
}

async function readPiece(piece: PlacedPiece, range: ByteRange, bucket: Bucket): Promise<Uint8Array> {
  const { file } = piece;
  if (file === undefined) return bucket.read(keyOf(piece), range);
  try {
    return await readFileRange(file, range);
  } catch (error) {
    if (!isAbsent(error)) throw error;
    // It was closed, or sent, a moment ago.
    return readFileRange(file.replace(/\.open$/, ''), range).catch(() => bucket.read(keyOf(piece), range));
  }
}
