import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface PruneOptions {
  /** The folder of a folder store. */
  readonly folder: string;
  /** Milliseconds since the epoch: logs that were written last before it go. */
  readonly before: number;
}

/**
 * Removes old logs of tasks and empty folders. @returns how many it removed; errors and concurrent removals
 * are skipped.
 */
export async function pruneLogs({ folder, before }: PruneOptions): Promise<number> {
  const logs = join(folder, 'logs');
  let removed = 0;
  for (const cluster of await namesIn(logs)) {
    for (const node of await namesIn(join(logs, cluster))) {
      const place = join(logs, cluster, node);
      for (const name of await namesIn(place)) {
        if (name.endsWith('.log') && (await removeOld(join(place, name), before))) removed += 1;
      }
      await removeEmpty(place);
    }
    await removeEmpty(join(logs, cluster));
  }
  return removed;
}

const dayMs = 86_400_000;

/** Removes old logs now and once a day. @returns a function that ends this. */
export function pruneLogsDaily({
  folder,
  days,
  say,
}: {
  readonly folder: string;
  readonly days: number;
  readonly say: (removed: number) => void;
}): () => void {
  const prune = (): void =>
    void pruneLogs({ folder, before: Date.now() - days * dayMs }).then(
      (removed) => removed > 0 && say(removed),
    );
  prune();
  const timer = setInterval(prune, dayMs).unref();
  return () => clearInterval(timer);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

async function removeOld(file: string, before: number): Promise<boolean> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined || found.mtimeMs >= before) return false;
  return rm(file).then(
    () => true,
    () => false,
  );
}

/** A folder stays if it is not empty, or a log is being created in it. */
async function removeEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => undefined);
}
