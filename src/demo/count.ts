import { readFile } from 'node:fs/promises';
import type { HeddleClient } from '../client/heddle-client.js';
import type { Plan } from '../model/plan/plan.js';
import { countOf } from '../model/plan/ranges.js';
import { createPool } from '../ssh/pool.js';
import { listRuns } from '../ssh/list-runs.js';
import type { DevRecord } from './dev-process.js';

export interface MachineCount {
  /** Machines that the service has now. */
  readonly alive: number;
  /** CREATE calls that it accepted, ever, and the different keys among them. */
  readonly created: number;
  readonly keys: number;
}

/** Asks the machine service itself: it is a process of its own and knows nothing of Heddle's state. */
export async function countMachines({
  machines: { endpoint, apiKeyFile },
}: DevRecord): Promise<MachineCount> {
  const authorization = `Bearer ${(await readFile(apiKeyFile, 'utf8')).trim()}`;
  const get = async (path: string): Promise<unknown> =>
    (await fetch(`${endpoint}${path}`, { headers: { authorization } })).json();
  const { machines } = (await get('/v1/machines')) as { readonly machines: readonly unknown[] };
  const { entries } = (await get('/v1/journal?operation=create&limit=1000')) as {
    readonly entries: readonly { readonly key?: string; readonly repeated?: true }[];
  };
  const created = entries.filter((entry) => entry.repeated !== true);
  return {
    alive: machines.length,
    created: created.length,
    keys: new Set(created.map((entry) => entry.key)).size,
  };
}

export interface RunCount {
  readonly folders: number;
  /** Scripts that were started more than once, or never. */
  readonly notOnce: number;
}

/** Counts the runs of each script from the run folders on the nodes. */
export async function countRuns(client: HeddleClient, cluster: string): Promise<RunCount> {
  const pool = createPool();
  try {
    const { nodes } = await client.status(cluster);
    const runs = await Promise.all(
      nodes.map(async ({ nodeId }) => {
        const payload = await client.payload(cluster, nodeId);
        const auth = payload['ssh-auth'] as { readonly user: string; readonly password: string };
        const connection = await pool.acquire({
          host: payload['ipaddress'] as string,
          port: payload['ssh-port'] as number,
          user: auth.user,
          password: auth.password,
          hostKey: payload['ssh-host-key'] as string,
        });
        return listRuns(connection);
      }),
    );
    const all = runs.flat();
    return { folders: all.length, notOnce: all.filter((run) => run.starts !== 1).length };
  } finally {
    await pool.closeAll();
  }
}

/** Scripts that a plan will run: one for each action of a service on a node. */
export function scriptsIn(plan: Plan): number {
  return plan.kinds.reduce(
    (sum, kind) => sum + countOf(kind.nodes) * kind.chain.filter((step) => step.service !== undefined).length,
    0,
  );
}
