import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isHeld, takeLock, type LockRecord } from '../detached/lock-file.js';
import { isRunning, markOf, type ProcessMark } from '../detached/process-mark.js';
import { endProcess } from './process.js';

/** The data folder's server belongs to this process until released. */
export interface Claim {
  /** Records the server process, so that a later start can end it if this process dies. */
  recordServer(pid: number, address: string): Promise<void>;
  release(): Promise<void>;
}

/** A running process holds the claim. */
class DataFolderInUseError extends Error {
  override readonly name = 'DataFolderInUseError';
}

/**
 * Claims a data folder's server for this process, and ends a server that a killed process left.
 * @throws DataFolderInUseError if a running process holds the claim.
 */
export async function claimDataFolder(dataFolder: string, say: (line: string) => void): Promise<Claim> {
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  const file = join(dataFolder, 'temporal-server.json');
  const lock = await takeLock(file, {
    isStale: async (record) => !(await isInUse(record)),
    onStale: async ({ owner, data }) => {
      const { server } = serverOf(data);
      if (server === undefined || !(await isRunning(server))) return;
      say(`ending the Temporal server (pid ${server.pid}) that process ${owner.pid} left behind`);
      await endProcess(server);
    },
  });
  if (!isHeld(lock)) {
    const { address } = serverOf(lock.data);
    throw new DataFolderInUseError(
      `the Temporal server of this data folder is in use: process ${lock.owner.pid} ${address === undefined ? 'starts it' : `runs it at ${address}`} (${file}). ` +
        'Use that server, stop that process, or set HEDDLE_DATA_FOLDER to another folder.',
    );
  }
  return {
    recordServer: async (pid, address) => {
      const server = await markOf(pid);
      // A server that has ended already needs no record.
      if (server !== undefined) await lock.write({ server, address });
    },
    release: () => lock.release(),
  };
}

/** Its owner runs, and so does its server once it was started. */
async function isInUse({ owner, data }: LockRecord): Promise<boolean> {
  const { server } = serverOf(data);
  return (await isRunning(owner)) && (server === undefined || (await isRunning(server)));
}

/** Absent until the server was started. */
function serverOf(data: LockRecord['data']): { readonly server?: ProcessMark; readonly address?: string } {
  return data;
}
