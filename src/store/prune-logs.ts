import { rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn } from './folder.js';

/** Limits of all logs in a folder store together; the oldest are removed first. */
export interface LogBounds {
  /** Retention after the last line, in days. */
  readonly logDays: number;
  readonly logFiles: number;
  /** In MiB. */
  readonly logMb: number;
}

const mebibyte = 1024 ** 2;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * Removes task logs beyond the limits, and empty folders, from a folder store. Skips errors and
 * concurrent removals.
 * @returns the number of removed logs.
 */
export async function pruneLogs(folder: string, { logDays, logFiles, logMb }: LogBounds): Promise<number> {
  const logs = await findLogFiles(folder);
  const before = Date.now() - logDays * dayMs;
  let files = 0;
  let bytes = 0;
  let removed = 0;
  for (const { file, size, changedAt } of logs.toSorted((a, b) => b.changedAt - a.changedAt)) {
    files += 1;
    bytes += size;
    if (changedAt >= before && files <= logFiles && bytes <= logMb * mebibyte) continue;
    if (await isRemoved(file)) removed += 1;
  }
  await removeEmptyFolders(join(folder, 'logs'));
  return removed;
}

/** Number and size of the logs in a folder store. */
export async function measureLogs(
  folder: string,
): Promise<{ readonly files: number; readonly bytes: number }> {
  const logs = await findLogFiles(folder);
  return { files: logs.length, bytes: logs.reduce((sum, { size }) => sum + size, 0) };
}

interface LogFile {
  readonly file: string;
  readonly size: number;
  readonly changedAt: number;
}

async function findLogFiles(folder: string): Promise<readonly LogFile[]> {
  const found: LogFile[] = [];
  for (const ofNode of await foldersAt(join(folder, 'logs'), 3))
    for (const name of await namesIn(ofNode)) {
      const file = join(ofNode, name);
      const stats = name.endsWith('.log') ? await stat(file).catch(() => undefined) : undefined;
      if (stats !== undefined) found.push({ file, size: stats.size, changedAt: stats.mtimeMs });
    }
  return found;
}

/** Paths that are `levels` below a folder: clusters at 1, days at 2, nodes at 3. */
async function foldersAt(folder: string, levels: number): Promise<readonly string[]> {
  if (levels === 0) return [folder];
  const found: (readonly string[])[] = [];
  for (const name of await namesIn(folder)) found.push(await foldersAt(join(folder, name), levels - 1));
  return found.flat();
}

/** Prunes logs now and once an hour. @returns a function that stops it. */
export function pruneLogsHourly({
  folder,
  bounds,
  say,
}: {
  readonly folder: string;
  readonly bounds: LogBounds;
  readonly say: (removed: number) => void;
}): () => void {
  const prune = (): void => void pruneLogs(folder, bounds).then((removed) => removed > 0 && say(removed));
  prune();
  const timer = setInterval(prune, hourMs).unref();
  return () => clearInterval(timer);
}

async function isRemoved(file: string): Promise<boolean> {
  return rm(file).then(
    () => true,
    () => false,
  );
}

/** Keeps a folder that is not empty, or in which a log is being created. */
async function removeEmptyFolders(logs: string): Promise<void> {
  for (const levels of [3, 2, 1])
    for (const folder of await foldersAt(logs, levels)) await rmdir(folder).catch(() => undefined);
}
