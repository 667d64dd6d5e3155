import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { systemCodeOf } from './errors.js';
import { startTimeOf } from './processes.js';

const holderSchema = z.object({ pid: z.number().int(), startedAt: z.string() });

/**
 * Locks the data folder for this process; returns the release. @throws Error if a living service holds it.
 */
export function lockFolder(dataFolder: string): () => void {
  const path = join(dataFolder, 'lock');
  const mine = `${path}.${process.pid}`;
  writeFileSync(
    mine,
    JSON.stringify({ pid: process.pid, startedAt: startTimeOf(process.pid) ?? 'unknown' }),
    { mode: 0o600 },
  );
  try {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      if (linkOnce(mine, path))
        return () => {
          rmSync(path, { force: true });
        };
      removeStale(dataFolder, path);
    }
  } finally {
    rmSync(mine, { force: true });
  }
  throw new Error(`Could not take the lock ${path}: others keep taking it. Start one machine service only.`);
}

/** A link appears with its content or not at all, and only one process can make it. */
function linkOnce(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (systemCodeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function removeStale(dataFolder: string, path: string): void {
  const seen = readLock(path);
  if (seen === undefined) return;
  refuseIfAlive(dataFolder, seen);
  const stale = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, stale);
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return;
    throw error;
  }
  // Someone quicker may have replaced the stale lock by their own: give it back.
  const moved = readFileSync(stale, 'utf8');
  if (moved !== seen) linkOnce(stale, path);
  rmSync(stale, { force: true });
  if (moved !== seen) refuseIfAlive(dataFolder, moved);
}

function readLock(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function refuseIfAlive(dataFolder: string, text: string): void {
  const holder = parseHolder(text);
  if (holder === undefined || startTimeOf(holder.pid) !== holder.startedAt) return;
  throw new Error(
    `Another machine service (process ${holder.pid}) works on ${dataFolder}. Stop it, or give this one another --data folder.`,
  );
}

function parseHolder(text: string): z.infer<typeof holderSchema> | undefined {
  try {
    return holderSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
