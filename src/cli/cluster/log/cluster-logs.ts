import { dayOf, type LogArchive } from '../../../store/store.js';
import { findLogs, type LogFilter } from './find-logs.js';
import { type LogEntry, LogReader, mergeLogs, type PlacedEntry, readLastLines } from './log-files.js';

/** A worker's last lines of a day may be written a little later. */
const overlapMs = 3_600_000;

/** The logs of a cluster that pass a filter, day by day. */
export class ClusterLogs {
  readonly archive: LogArchive;
  readonly #filter: LogFilter;
  /** Readers of the days that are followed, by the ids of their logs. */
  readonly #followed = new Map<string, LogReader>();
  #followedSince: string | undefined;

  constructor(archive: LogArchive, filter: LogFilter) {
    this.archive = archive;
    this.#filter = filter;
  }

  /** The days that can have lines since then, oldest first. */
  async days(from = 0): Promise<readonly string[]> {
    const first = dayOf(from);
    return (await this.archive.days(this.#filter.clusterUid)).filter((day) => day >= first);
  }

  /** Readers that a follower has used stay the same. */
  async readers(day: string): Promise<readonly LogReader[]> {
    const sources = await findLogs(this.archive, this.#filter, day);
    const isFollowed = this.#followedSince !== undefined && day >= this.#followedSince;
    return sources.map((source) => {
      const { id } = source.stored;
      const reader = this.#followed.get(id) ?? new LogReader(source);
      reader.source = source;
      if (isFollowed) this.#followed.set(id, reader);
      return reader;
    });
  }

  async hasAny(): Promise<boolean> {
    for (const day of (await this.days()).toReversed())
      if ((await findLogs(this.archive, this.#filter, day)).length > 0) return true;
    return false;
  }

  /** From now on readers of recent days are remembered. */
  async beginToFollow(): Promise<void> {
    this.#followedSince = dayOf(Date.now() - overlapMs);
    await this.grown();
  }

  /** Skips lines that existed before following started and were not read. */
  skipRest(): void {
    for (const reader of this.#followed.values()) reader.skip();
  }

  /** Readers of all logs that may have grown, and of new ones. */
  async grown(): Promise<readonly LogReader[]> {
    const readers: (readonly LogReader[])[] = [];
    for (const day of await this.days())
      if (this.#followedSince !== undefined && day >= this.#followedSince)
        readers.push(await this.readers(day));
    return readers.flat();
  }
}

/** Which lines are wanted. */
export interface Wanted {
  /** In ms since the epoch. */
  readonly from?: number | undefined;
  /** The last ones only. */
  readonly tail?: number | undefined;
  readonly isShown: (entry: LogEntry) => boolean;
}

/**
 * Yields the lines in the order of their times. Reads no more than necessary: a day at a time, the latest
 * first for the last lines.
 * @returns whether there were logs.
 */
export async function readLogs(
  logs: ClusterLogs,
  { from = 0, tail, isShown }: Wanted,
  take: (placed: PlacedEntry) => void,
): Promise<boolean> {
  const days = await logs.days(from);
  let hasLogs = false;
  const readersOf = async (day: string): Promise<readonly LogReader[]> => {
    const readers = await logs.readers(day);
    hasLogs ||= readers.length > 0;
    return readers.filter(({ source }) => source.stored.changedAt >= from);
  };
  if (tail === undefined) {
    for (const day of days)
      for await (const placed of mergeLogs(await readersOf(day))) if (isShown(placed.entry)) take(placed);
    return hasLogs;
  }
  let last: readonly PlacedEntry[] = [];
  for (const day of days.toReversed()) {
    const oldest = last.length < tail ? undefined : last[0]?.entry.t;
    if (oldest !== undefined && oldest.slice(0, day.length) > day) break;
    last = await readLastLines(await readersOf(day), tail, isShown, last);
  }
  last.forEach(take);
  return hasLogs;
}
