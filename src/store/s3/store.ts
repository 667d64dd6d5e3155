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
  /** The store's folder on this machine, with pending pieces. */
  readonly folder: string;
  readonly report: (message: string) => void;
  /** Maximum size of the part of a log from one process and day, in bytes. Default: 64 MiB. */
  readonly logLimit?: number;
  /** Maximum size of pending pieces while the bucket does not answer, in bytes. Default: 512 MiB. */
  readonly outboxBytes?: number;
}

/**
 * Stores logs in a bucket. S3 cannot append, so a log consists of pieces, each an object, which
 * remain on the worker's disk until they are sent. An unavailable bucket therefore does not
 * affect tasks, and a later worker on the machine sends the pieces of a killed one.
 * @throws StoreError if other users have access to the folder.
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

/** Reads logs from the bucket, and pending pieces from this machine's folder. */
export function openS3Archive({ bucket, folder }: Pick<S3StoreOptions, 'bucket' | 'folder'>): LogArchive {
  const outbox = new Outbox({ folder: outboxOf(folder), logLimit: 0 });
  return {
    place: bucket.place,
    lagMs: 10_000,
    async days(clusterUid) {
      // The bucket is read last, so that pieces sent in the meantime are found there.
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

/** Returns none for foreign objects. */
function sentPiece({ key, size, storedAt: changedAt }: StoredObject): readonly PlacedPiece[] {
  const [, path = '', id = ''] = /^logs\/(.*)\/([^/]*)$/.exec(key) ?? [];
  const writer = pieceId.exec(id)?.[1];
  return writer === undefined ? [] : [{ path, id, size, writer, changedAt }];
}

/** Joins the pieces of each writer to one log, in order. */
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
    // It was closed or sent in the meantime.
    return readFileRange(file.replace(/\.open$/, ''), range).catch(() => bucket.read(keyOf(piece), range));
  }
}
