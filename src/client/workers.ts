import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { protoMs } from './proto-time.js';
import { serverTime } from './server-clock.js';
import { aliveQueue, coreQueue } from '../model/names.js';
import { hasErrorCode } from '../model/system-error.js';
import {
  describeDifference,
  differingPlugins,
  differingWorkers,
  readIdentity,
  reloadLines,
  type LoadedPlugin,
  type WorkerIdentity,
} from '../model/worker-identity.js';

/** A worker polls its queue of liveness every 8 s; it is dead after as long as this, in ms. */
const aliveMs = 30_000;
/** A poll for tasks waits for a minute; the server shows the worker for five. */
const polledMs = 120_000;

/** A queue of one name holds two kinds of tasks, which different workers may poll. */
export type QueueTasks = 'workflows' | 'activities';

// temporal.api.enums.v1.TaskQueueType
const taskQueueTypes = { workflows: 1, activities: 2 } as const satisfies Record<QueueTasks, number>;

interface Server {
  readonly connection: Pick<Client['connection'], 'workflowService'>;
  readonly namespace: string;
}

/** A worker that polled a queue in the last minutes. */
export interface SeenWorker {
  /** The present one, if the worker publishes it. */
  readonly identity: string;
  /** Last sign of life, in ms by the server's clock. */
  readonly at: number;
  readonly isAlive: boolean;
}

/** The workers that polled a queue in the last minutes, the last seen first. */
export async function workersOf(
  server: Server,
  queue: string,
  tasks: QueueTasks = 'activities',
): Promise<readonly SeenWorker[]> {
  const polled = await pollsOf(server, queue, tasks);
  if (polled.length === 0) return [];
  const now = await serverTime(server.connection, server.namespace);
  const seen = await Promise.all(
    polled.map(async ({ identity, at }): Promise<SeenWorker> => {
      if (now - at > polledMs || hasEnded(identity)) return { identity, at, isAlive: false };
      // A worker of another program publishes nothing.
      const published = await pollsOf(server, aliveQueue(readIdentity(identity).worker), 'activities');
      const [alive] = published.toSorted((one, other) => other.at - one.at);
      return alive === undefined
        ? { identity, at, isAlive: true }
        : { ...alive, isAlive: now - alive.at <= aliveMs };
    }),
  );
  return seen.toSorted((one, other) => other.at - one.at);
}

/** When each worker polled a queue last, as far as the server remembers; `at` in ms by its clock. */
export async function pollsOf(
  { connection, namespace }: Server,
  queue: string,
  tasks: QueueTasks,
): Promise<readonly { readonly identity: string; readonly at: number }[]> {
  const { pollers } = await connection.workflowService.describeTaskQueue({
    namespace,
    taskQueue: { name: queue },
    taskQueueType: taskQueueTypes[tasks],
  });
  return (pollers ?? []).map(({ identity, lastAccessTime }) => ({
    identity: identity ?? '',
    at: protoMs(lastAccessTime),
  }));
}

/** How long a worker that has just started may take to poll for work, in ms. */
const beginMs = 3_000;

/** Whether a worker polls a queue; waits a little for one that is starting. */
export async function isPolled(client: Client, queue: string, tasks?: QueueTasks): Promise<boolean> {
  for (const end = Date.now() + beginMs; ; await pause(100)) {
    if ((await workersOf(serverOf(client), queue, tasks)).some(({ isAlive }) => isAlive)) return true;
    if (Date.now() > end) return false;
  }
}

/** The identities of the living workers of a queue. */
export async function identitiesOn(server: Server, queue: string): Promise<readonly string[]> {
  const living = (await workersOf(server, queue)).filter(({ isAlive }) => isAlive);
  return [...new Set(living.map(({ identity }) => identity))].toSorted();
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

/** A living worker, and its build if it publishes that. */
export type ListedWorker = Pick<WorkerIdentity, 'worker' | 'build'>;

/** The living workers but builders, which do not poll the core queue. */
export async function listWorkers(client: Client): Promise<readonly ListedWorker[]> {
  const identities = await identitiesOn(serverOf(client), coreQueue);
  return identities.map(readIdentity).map(({ worker, build }) => ({ worker, build }));
}

/** The changes of heddle.yaml that workers of the core queue did not apply, a line for each. */
export async function workerReloads(client: Client): Promise<readonly string[]> {
  return reloadLines(await identitiesOn(serverOf(client), coreQueue));
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

export function serverOf({ connection, options }: Client): Server {
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
    return hasErrorCode(error, 'ESRCH');
  }
}
