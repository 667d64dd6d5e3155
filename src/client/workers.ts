import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { serverTime } from './server-clock.js';
import { coreQueue } from '../model/names.js';
import {
  describeDifference,
  differingPlugins,
  differingWorkers,
  readIdentity,
  type LoadedPlugin,
  workersByBuild,
} from '../model/worker-identity.js';

/** A worker asks again at least once a minute; the server shows it for five. */
const staleMs = 120_000;

// temporal.api.enums.v1.TaskQueueType
const activityTasks = 2;

type Described = Awaited<ReturnType<Client['workflowService']['describeTaskQueue']>>;
interface Server {
  readonly connection: Pick<Client['connection'], 'workflowService'>;
  readonly namespace: string;
}

type Pollers = NonNullable<Described['pollers']>;

/** The workers that polled a queue for activities in the last minutes, as the server reports. */
async function pollersOf({ connection, namespace }: Server, queue: string): Promise<Pollers> {
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: queue },
    taskQueueType: activityTasks,
  });
  return pollers ?? [];
}

/** How long a worker that has just started may take to ask for work, in ms. */
const beginMs = 3_000;

/** Whether a worker polls a queue; waits a little for one that is starting. */
export async function isPolled(client: Client, queue: string): Promise<boolean> {
  for (const end = Date.now() + beginMs; ; await pause(100)) {
    if ((await pollersOf(serverOf(client), queue)).length > 0) return true;
    if (Date.now() > end) return false;
  }
}

/** The identities of the workers of a queue, without those that are known to have ended. */
export async function identitiesOn(server: Server, queue: string): Promise<readonly string[]> {
  const since = (await serverTime(server.connection, server.namespace)) - staleMs;
  const pollers = await pollersOf(server, queue);
  const identities = pollers
    .filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) * 1_000 >= since)
    .map(({ identity }) => identity ?? '');
  return [...new Set(identities)].filter((identity) => !hasEnded(identity)).toSorted();
}

/** How the configurations of the workers of the core queue differ, a line for each; empty if they do not. */
export async function workerDifferences(client: Client): Promise<readonly string[]> {
  return differingWorkers(await identitiesOn(serverOf(client), coreQueue)).map(describeDifference);
}

/** The same between a worker that is about to start and those that poll already. */
export async function differencesFromOthers(client: Client, identity: string): Promise<readonly string[]> {
  return differingWorkers([identity, ...(await identitiesOn(serverOf(client), coreQueue))]).map(
    describeDifference,
  );
}

/** The workers of the core queue, which all but builders poll, by build. */
export async function workerBuilds(client: Client): Promise<Readonly<Record<string, readonly string[]>>> {
  return workersByBuild(await identitiesOn(serverOf(client), coreQueue));
}

/** The workers of this host, on a site's queue, that loaded plugins before their files changed. */
export async function workersWithOldPlugins<Plugin extends LoadedPlugin>(
  client: Client,
  queue: string,
  onDisk: readonly Plugin[],
): Promise<readonly { readonly worker: string; readonly plugins: readonly Plugin[] }[]> {
  const here = (await identitiesOn(serverOf(client), queue))
    .map(readIdentity)
    .filter(({ worker }) => worker.endsWith(`@${hostname()}`));
  return here
    .map((identity) => ({ worker: identity.worker, plugins: differingPlugins(identity, onDisk) }))
    .filter(({ plugins }) => plugins.length > 0);
}

function serverOf({ connection, options }: Client): Server {
  return { connection, namespace: options.namespace };
}

/** Of this host the processes are known. */
function hasEnded(identity: string): boolean {
  const [, pid, host] = /^(\d+)@(\S+)/.exec(identity) ?? [];
  if (pid === undefined || host !== hostname()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}
