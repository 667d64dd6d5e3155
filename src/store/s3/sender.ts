import { readFile } from 'node:fs/promises';
import pLimit from 'p-limit';
import { isAbsent } from '../append-limited.js';
import type { Bucket } from './bucket.js';
import { abandonedMs, type Outbox, type Piece } from './outbox.js';

export interface SenderOptions {
  readonly outbox: Outbox;
  readonly bucket: Bucket;
  /** Maximum size of pending pieces, in bytes; the oldest are dropped first. */
  readonly outboxBytes: number;
  readonly report: (message: string) => void;
}

export interface Sender {
  /** Sends closed pieces now instead of at the next interval. */
  wake(): void;
  close(): Promise<void>;
}

const roundMs = 1_000;
/** Age at which a piece is closed and sent, in ms: the maximum loss if the machine is lost. */
const pieceMs = 5_000;
const longestPauseMs = 60_000;
/** Timeout for the bucket while a worker shuts down, in ms. */
const closingMs = 5_000;
const requestsAtOnce = 8;

/**
 * Sends the pieces of an outbox to the bucket, in the order of writing for each log, and retries failures.
 */
export function startSender(options: SenderOptions): Sender {
  const { outbox, bucket, report } = options;
  const closing = new AbortController();
  let pauseMs = roundMs;
  let failing = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let wanted = false;

  const round = async (signal?: AbortSignal): Promise<void> => {
    const pieces = await choose(options);
    const { sent, failure } = await send(pieces, options, signal);
    // The last call sends interrupted pieces again.
    if (closing.signal.aborted && signal === closing.signal) return;
    if (failure !== undefined && !failing)
      report(`${failure.message}; logs are kept in the store of this worker, and tasks continue`);
    if (failure === undefined && failing) report(`logs are sent to ${bucket.place} again`);
    failing = failure !== undefined;
    pauseMs = failing && sent === 0 ? Math.min(pauseMs * 2, longestPauseMs) : roundMs;
  };
  const run = (): Promise<void> => {
    clearTimeout(timer);
    wanted = false;
    running ??= round(closing.signal)
      .catch((error: unknown) => report(`sending logs failed: ${String(error)}`))
      .finally(() => {
        running = undefined;
        if (closing.signal.aborted) return;
        timer = setTimeout(() => void run(), wanted && !failing ? 0 : pauseMs).unref();
      });
    return running;
  };
  timer = setTimeout(() => void run(), roundMs).unref();
  return {
    wake() {
      wanted = true;
      if (running === undefined && !failing && !closing.signal.aborted) void run();
    },
    async close() {
      closing.abort();
      clearTimeout(timer);
      await running;
      outbox.closeOlderThan(0);
      await round(AbortSignal.timeout(closingMs)).catch((error: unknown) =>
        report(`sending logs failed: ${String(error)}`),
      );
    },
  };
}

/** The pieces to send: closed ones of this process, and those of processes that have ended. */
async function choose({ outbox, outboxBytes, report }: SenderOptions): Promise<readonly Piece[]> {
  outbox.closeOlderThan(pieceMs);
  const pieces = await outbox.pieces();
  const isAbandoned = ({ writer, changedAt }: Piece): boolean =>
    writer !== outbox.writer && Date.now() - changedAt > abandonedMs;
  for (const piece of pieces) if (piece.open && isAbandoned(piece)) await outbox.adopt(piece);
  const closed = pieces.filter(({ open }) => !open);
  const dropped = surplusOf(closed, outboxBytes);
  for (const piece of dropped) await outbox.remove(piece);
  if (dropped.size > 0)
    report(`${dropped.size} pieces of logs were dropped: more than ${outboxBytes} bytes are pending`);
  return closed.filter(
    (piece) => !dropped.has(piece) && (piece.writer === outbox.writer || isAbandoned(piece)),
  );
}

/** The oldest pieces that exceed the limit. */
function surplusOf(pieces: readonly Piece[], limit: number): ReadonlySet<Piece> {
  let surplus = pieces.reduce((sum, { size }) => sum + size, 0) - limit;
  const dropped = new Set<Piece>();
  for (const piece of pieces.toSorted((a, b) => a.changedAt - b.changedAt)) {
    if (surplus <= 0) break;
    surplus -= piece.size;
    dropped.add(piece);
  }
  return dropped;
}

interface RoundEnd {
  readonly sent: number;
  readonly failure?: Error;
}

async function send(
  pieces: readonly Piece[],
  { outbox, bucket }: SenderOptions,
  signal?: AbortSignal,
): Promise<RoundEnd> {
  const limit = pLimit(requestsAtOnce);
  let sent = 0;
  const sendLog = async (ofLog: readonly Piece[]): Promise<void> => {
    for (const piece of ofLog) {
      const content = await readFile(piece.file).catch((error: unknown) => {
        // Another process has sent it.
        if (isAbsent(error)) return undefined;
        throw error;
      });
      if (content === undefined) continue;
      await bucket.put(keyOf(piece), content, signal);
      await outbox.remove(piece);
      sent += 1;
    }
  };
  const ends = await Promise.allSettled(
    [...byLog(pieces).values()].map((ofLog) => limit(() => sendLog(ofLog))),
  );
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed === undefined) return { sent };
  return { sent, failure: failed.reason instanceof Error ? failed.reason : new Error(String(failed.reason)) };
}

function byLog(pieces: readonly Piece[]): ReadonlyMap<string, readonly Piece[]> {
  const logs = new Map<string, Piece[]>();
  for (const piece of pieces) {
    const key = `${piece.path}/${piece.writer}`;
    logs.set(key, [...(logs.get(key) ?? []), piece]);
  }
  return logs;
}

/** The key of a piece in the bucket. */
export function keyOf({ path, id }: Pick<Piece, 'path' | 'id'>): string {
  return `logs/${path}/${id}`;
}
