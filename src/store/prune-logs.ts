import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** What the logs of a folder store may have together; of more, those go that were written the longest ago. */
export const logBounds = { files: 100_000, bytes: 20 * 1024 ** 3 };

export interface PruneOptions {
  /** The folder of a folder store. */
  readonly folder: string;
  /** Milliseconds since the epoch: logs that were written last before it go. */
  readonly before: number;
  readonly bounds?: typeof logBounds;
}

/**
 * Removes old logs of tasks, those beyond the bounds, and empty folders. @returns how many it removed; errors and
 * concurrent removals are skipped.
 */
export async function pruneLogs({ folder, before, bounds = logBounds }: PruneOptions): Promise<number> {
  const logs = await findLogFiles(folder);
  let files = 0;
  let bytes = 0;
  let removed = 0;
  for (const { file, size, changedAt } of logs.toSorted((a, b) => b.changedAt - a.changedAt)) {
    files += 1;
    bytes += size;
    if (changedAt >= before && files <= bounds.files && bytes <= bounds.bytes) continue;
    if (await isRemoved(file)) removed += 1;
  }
  await removeEmptyFolders(join(folder, 'logs'));
  return removed;
}

/** Number and size of the logs in a folder store. */
export async function measureLogs(folder: string): Promise<typeof logBounds> {
  const logs = await findLogFiles(folder);
  return { files: logs.length, bytes: logs.reduce((sum, { size }) => sum + size, 0) };
}

interface LogFile {
  readonly file: string;
  readonly size: number;
  readonly changedAt: number;
}

async function findLogFiles(folder: string): Promise<readonly LogFile[]> {
  const logs = join(folder, 'logs');
  const found: LogFile[] = [];
  for (const cluster of await namesIn(logs))
    for (const node of await namesIn(join(logs, cluster)))
      for (const name of await namesIn(join(logs, cluster, node))) {
        const file = join(logs, cluster, node, name);
        const stats = name.endsWith('.log') ? await stat(file).catch(() => undefined) : undefined;
        if (stats !== undefined) found.push({ file, size: stats.size, changedAt: stats.mtimeMs });
      }
  return found;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Removes old logs now and once an hour. @returns a function that ends this. */
export function pruneLogsHourly({
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
  const timer = setInterval(prune, hourMs).unref();
  return () => clearInterval(timer);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

async function isRemoved(file: string): Promise<boolean> {
  return rm(file).then(
    () => true,
    () => false,
  );
}

/** A folder stays if it is not empty, or a log is being created in it. */
async function removeEmptyFolders(logs: string): Promise<void> {
  for (const cluster of await namesIn(logs)) {
    for (const node of await namesIn(join(logs, cluster)))
      await rmdir(join(logs, cluster, node)).catch(() => undefined);
    await rmdir(join(logs, cluster)).catch(() => undefined);
  }
}
