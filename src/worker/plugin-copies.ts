import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat, utimes } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { hasErrorCode } from '../model/system-error.js';

/** A folder in use was touched within this time, in ms. */
const leftAfterMs = 7 * 24 * 3_600_000;
const touchEveryMs = 3_600_000;

/** The folders of this process: it may prepare several workers. */
const own = new Set<string>();

export interface PluginCopies {
  /** Where this process keeps copies of its plugins; the registry removes it. */
  readonly folder: string;
  close(): void;
}

/**
 * Makes the folder in which this process runs plugins, and removes those that killed workers
 * left behind. Containers and hosts may share a data folder, so processes elsewhere count as
 * running while they touch their folders.
 */
export async function openPluginCopies(dataFolder: string): Promise<PluginCopies> {
  const all = join(dataFolder, 'plugins');
  await mkdir(all, { recursive: true, mode: 0o700 });
  for (const name of await readdir(all))
    if (await isLeft(all, name)) await rm(join(all, name), { recursive: true, force: true });
  const name = `${process.pid}-${randomUUID().slice(0, 8)}@${hostname()}`;
  const folder = join(all, name);
  own.add(name);
  await mkdir(folder, { mode: 0o700 });
  const touch = async (): Promise<void> => utimes(folder, new Date(), new Date()).catch(() => undefined);
  const timer = setInterval(() => void touch(), touchEveryMs).unref();
  return { folder, close: () => clearInterval(timer) };
}

async function isLeft(all: string, name: string): Promise<boolean> {
  const [, pid = '', host] = /^(\d+)-[^@]*@(.*)$/.exec(name) ?? [];
  // A restarted container has its host name and process id again.
  if (host === hostname()) return Number(pid) === process.pid ? !own.has(name) : !isAlive(Number(pid));
  const found = await stat(join(all, name)).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > leftAfterMs;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !hasErrorCode(error, 'ESRCH');
  }
}
