import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunning, markOf, type ProcessMark } from '../detached/process-mark.js';
import { endProcess } from './process.js';

/** Who uses the server of a data folder; kept in the folder while the server runs. */
interface ClaimRecord {
  readonly owner: ProcessMark;
  /** Absent until the server was spawned. */
  readonly server?: ProcessMark;
  readonly address?: string;
}

/** The data folder's server belongs to this process until released. */
export interface Claim {
  /** Records the server process, so that a later start can end it if this process dies. */
  recordServer(pid: number, address: string): Promise<void>;
  release(): Promise<void>;
}

/**
 * Claims a data folder's server for this process, and ends a server that a killed process left. @throws Error
 * if a living process holds the claim.
 */
export async function claimDataFolder(dataFolder: string, say: (line: string) => void): Promise<Claim> {
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  const file = join(dataFolder, 'temporal-server.json');
  const owner = await markOf(process.pid);
  if (owner === undefined)
    throw new Error(
      `this process (${process.pid}) cannot be seen in the process table, which the claim of ${dataFolder} needs`,
    );

  while (!(await create(file, { owner }))) {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text !== undefined) await replaceStale(file, text, say);
  }
  return {
    recordServer: async (pid, address) => {
      const server = await markOf(pid);
      // A server that has ended already needs no record.
      if (server !== undefined) await replace(file, { owner, server, address });
    },
    release: () => rm(file, { force: true }),
  };
}

/** Removes the claim of a dead process. @throws Error if its process lives. */
async function replaceStale(file: string, text: string, say: (line: string) => void): Promise<void> {
  const { owner, server, address } = parse(file, text);
  const ownerRuns = await isRunning(owner);
  const serverRuns = server !== undefined && (await isRunning(server));
  if (ownerRuns && (serverRuns || server === undefined)) {
    throw new Error(
      `The Temporal server of this data folder is in use: process ${owner.pid} runs it${address === undefined ? '' : ` at ${address}`} (${file}). ` +
        'Use that server, stop that process, or choose another data folder.',
    );
  }
  if (server !== undefined && serverRuns) {
    say(`ending the Temporal server (pid ${server.pid}) that process ${owner.pid} left behind`);
    await endProcess(server);
  }
  // Moved away, not removed: should another have claimed it meanwhile, its claim goes back.
  const moved = `${file}.${randomUUID()}`;
  await rename(file, moved).catch(() => undefined);
  if ((await readFile(moved, 'utf8').catch(() => text)) !== text)
    await link(moved, file).catch(() => undefined);
  await rm(moved, { force: true });
}

function parse(file: string, text: string): ClaimRecord {
  try {
    const record = JSON.parse(text) as ClaimRecord;
    if (Number.isInteger(record.owner.pid)) return record;
    throw new Error('it names no owner');
  } catch (cause) {
    throw new Error(`${file} cannot be read as the record of a running server; remove it when none runs`, {
      cause,
    });
  }
}

/** A hard link appears with its content or not at all. */
async function create(file: string, record: ClaimRecord): Promise<boolean> {
  const temporary = await writeTemporary(file, record);
  try {
    await link(temporary, file);
    return true;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false;
    throw cause;
  } finally {
    await rm(temporary, { force: true });
  }
}

async function replace(file: string, record: ClaimRecord): Promise<void> {
  await rename(await writeTemporary(file, record), file);
}

async function writeTemporary(file: string, record: ClaimRecord): Promise<string> {
  const temporary = `${file}.${randomUUID()}`;
  await writeFile(temporary, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
  return temporary;
}
