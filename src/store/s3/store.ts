import { join } from 'node:path';
import { defaultLogLimit, isAbsent, readFileRange, requirePrivate } from '../folder.js';
import {
  parseLogName,
  parseLogPrefix,
  type ByteRange,
  type LogArchive,
  type LogStore,
  type StoredLog,
} from '../store.js';
import type { Bucket } from './bucket.js';
import { Outbox, pieceId, type Piece } from './outbox.js';
import { keyOf, startSender } from './sender.js';

export interface S3StoreOptions {
  readonly bucket: Bucket;
  /** The store's folder on this machine; what is not sent yet is in it. */
  readonly folder: string;
  readonly report: (message: string) => void;
  /** Largest part of a log from one process, in bytes; 64 MiB unless given. */
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
    async find(prefix) {
      const path = parseLogPrefix(prefix).join('/');
      // What is sent in between is found in the bucket, which is asked last.
      const waiting = await outbox.pieces(path);
      const objects = await bucket.list(`logs/${path}/`);
      const sent = objects.flatMap(({ key, size }) => sentPiece(key, size));
      return joinPieces(
        [...sent, ...waiting.filter(({ id }) => !sent.some((piece) => piece.id === id))],
        bucket,
      );
    },
  };
}

function outboxOf(folder: string): string {
  return join(folder, 'outbox');
}

/** A piece without a file is in the bucket. */
type PlacedPiece = Pick<Piece, 'log' | 'id' | 'size' | 'writer'> & { readonly file?: string };

/** None for objects that are not ours. */
function sentPiece(key: string, size: number): readonly PlacedPiece[] {
  const [, log = '', id = ''] = /^logs\/(.*)\/([^/]*)$/.exec(key) ?? [];
  const writer = pieceId.exec(id)?.[1];
  if (writer === undefined || !isLogName(log)) return [];
  return [{ log, id, size, writer }];
}

function isLogName(name: string): boolean {
  try {
    parseLogName(name);
    return true;
  } catch {
    return false;
  }
}

/** One log for each writer: its pieces follow each other. */
function joinPieces(pieces: readonly PlacedPiece[], bucket: Bucket): readonly StoredLog[] {
  const logs = new Map<string, PlacedPiece[]>();
  for (const piece of pieces.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const id = `${piece.log}/${piece.writer}`;
    const known = logs.get(id);
    if (known === undefined) logs.set(id, [piece]);
    else known.push(piece);
  }
  return [...logs].map(([id, own]) => ({
    id,
    log: own[0]?.log ?? '',
    size: own.reduce((sum, { size }) => sum + size, 0),
    read: (range) => readPieces(own, range, bucket),
  }));
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
