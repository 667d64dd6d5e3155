import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { activityInfo } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { createAbsences } from '../../../src/activities/provider/absence.js';
import { createTaskActivities } from '../../../src/activities/table.js';
import { createInFlight } from '../../../src/activities/in-flight.js';
import type { ActivityParts } from '../../../src/activities/parts.js';
import type { Action } from '../../../src/model/action.js';
import type { JsonObject } from '../../../src/model/json.js';
import type { TaskOutcome, TaskRequest } from '../../../src/model/node/task-request.js';
import { loadRegistry } from '../../../src/plugins/registry.js';
import { createRedactor } from '../../../src/secrets/redact.js';
import { resolveForTask } from '../../../src/worker/configured-parts.js';
import { ping } from '../../../src/worker/ping.js';
import { createPool } from '../../../src/ssh/pool.js';
import { probe } from '../../../src/ssh/probe.js';
import { createShell } from '../../../src/ssh/shell.js';
import { createFolderStore } from '../../../src/store/folder.js';
import { configSchema } from '../../../src/schema/config.js';

export interface Bench {
  readonly folder: string;
  readonly parts: ActivityParts;
  /** Lines of the worker's log. */
  readonly logged: readonly string[];
  /** Runs one attempt of one task. `heartbeat`: what the attempt before it reported last. */
  run(
    action: Action,
    request: TaskRequest,
    attempt?: number,
    heartbeat?: object,
    /** The time of the whole task. */
    withinMs?: number,
  ): Promise<TaskOutcome>;
  close(): Promise<void>;
}

const errors = fileURLToPath(new URL('../../../src/plugins/errors.ts', import.meta.url));

/**
 * A provider plugin called `fault` in a folder of its own; `code` is the body of its class. `seed` is the
 * older form of descriptors.
 */
export async function writeProvider(
  folder: string,
  code: string,
  descriptor: object | 'seed' = {},
): Promise<void> {
  const plugin = join(folder, 'providers', 'fault');
  await mkdir(plugin, { recursive: true });
  await writeFile(
    join(plugin, 'fault.json'),
    JSON.stringify(
      descriptor === 'seed'
        ? { fault: { classname: 'Fault' } }
        : {
            name: 'fault',
            type: 'provider',
            entry: './fault.mjs',
            class: 'Fault',
            version: '1.0.0',
            description: 'Goes wrong',
            idempotency: 'token',
            fields: {
              admin: { token: { title: 'Token', type: 'string', secret: true } },
              user: { how: { title: 'How', type: 'string' } },
            },
            ...descriptor,
          },
    ),
  );
  await writeFile(
    join(plugin, 'fault.mjs'),
    `import { PluginError } from ${JSON.stringify(errors)};\nexport class Fault {
    constructor({ fields, log, signal }) { this.fields = fields; this.log = log; this.signal = signal; }\n${code}\n}`,
  );
}

/**
 * The parts of a worker's activities, all real; only the cluster workflow that knows the peers is left out.
 */
export async function openBench(
  code: string,
  changes: Partial<ActivityParts> = {},
  descriptor: object | 'seed' = {},
  addPlugins: (folder: string) => Promise<void> = () => Promise.resolve(),
): Promise<Bench> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-activities-'));
  await writeProvider(folder, code, descriptor);
  await addPlugins(folder);
  const registry = await loadRegistry({ folders: [folder], log: { info: () => undefined } });
  const pool = createPool();
  const logged: string[] = [];
  const write = (attributes: object, message: string): void => {
    logged.push(`${message} ${JSON.stringify(attributes)}`);
  };
  const parts: ActivityParts = {
    automators: {},
    registry,
    inFlight: createInFlight(),
    installation: 'installation',
    lastPass: noLastPass,
    log: { debug: write, info: write, warn: write, error: write },
    providers: { fault: { type: 'fault', site: 'here', fields: { token: { secret: 'env:TOKEN' } } } },
    nodes: {
      probe: (address, signal) => probe(address, { signal }),
      ping: ({ host }, signal) => ping(host, signal),
      connect: async (address, { host, port }, signal) =>
        (await pool.acquire(address, signal)).forward(host, port),
      shell: (address, { timeoutMs: _limit, ...options }) =>
        createShell({ pool, target: address, ...options }),
    },
    logs: createFolderStore({ folder: join(folder, 'store') }),
    resolveSecrets: (value, origin) =>
      resolveForTask(value, { environment: { TOKEN: secret } }, { ...origin, allows: () => true }),
    forbiddenReferences: () => [],
    redact: createRedactor,
    askPeers: () => Promise.resolve({ version: 1, changed: {}, gone: [] }),
    claims: () => ({
      take: () => Promise.resolve(undefined),
      release: () => Promise.resolve(),
      held: () => Promise.resolve({}),
    }),
    runFolder: join(folder, 'runs'),
    settings: configSchema.parse({ loadsAtOnce: 1 }),
    pools: {
      ask: () => Promise.reject(new Error('no pools here')),
      request: () => Promise.resolve(undefined),
      end: () => Promise.resolve(),
      allocated: () => Promise.resolve([]),
      names: () => Promise.resolve([]),
      labels: () => Promise.resolve(undefined),
    },
    absences: createAbsences(),
    locks: () => ({ take: () => Promise.resolve(true), release: () => Promise.resolve() }),
    rateLimiters: () => undefined,
    countCall: () => undefined,
    resources: () => Promise.reject(new Error('no resources here')),
    serverNow: () => undefined,
    runs: runsWith({}),
    clusters: noClusters,
    ...changes,
  };
  const activities = createTaskActivities(parts);
  return {
    folder,
    parts,
    logged,
    run: (action, request, attempt = 1, heartbeatDetails, withinMs = 120_000) =>
      new MockActivityEnvironment(
        { attempt, heartbeatDetails, startToCloseTimeoutMs: 120_000, scheduleToCloseTimeoutMs: withinMs },
        { logger: new DefaultLogger('ERROR') },
      ).run(activities[action], request),
    close: async () => {
      await pool.closeAll();
      await parts.registry.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** There is no server: the attempt under way is the only one there is. */
export function runsWith(reported: { readonly heartbeat?: unknown }): ActivityParts['runs'] {
  return {
    list: () => Promise.resolve([]),
    openGroups: () => Promise.resolve([]),
    describe: (_, runId = '') => {
      const { activityId, attempt } = activityInfo();
      const pending = [{ activityId, attempt, ...reported }];
      return Promise.resolve({ runId, firstRunId: runId, status: 'RUNNING', startedAt: 0, pending });
    },
    startOf: () => Promise.resolve(undefined),
    resetAt: () => Promise.resolve(undefined),
    recordHeartbeat: () => Promise.resolve(true),
  };
}

/** A worker that took part in no pass of the sweep. */
export const noLastPass: ActivityParts['lastPass'] = {
  missing: () => Promise.resolve(undefined),
  record: () => Promise.resolve(),
};

/** A server without any cluster. */
const noClusters: ActivityParts['clusters'] = {
  record: () => Promise.resolve({ status: 'unknown' }),
  uids: () => Promise.resolve([]),
  origins: () => Promise.resolve([]),
  living: () => Promise.resolve([]),
  resetAt: () => Promise.resolve(undefined),
  owners: () => Promise.reject(new Error('there is no workflow')),
  disown: () => Promise.reject(new Error('there is no workflow')),
};

/** What the environment variable TOKEN holds. */
export const secret = 'hunter2-hunter2';

export function request(fields: JsonObject, more: Partial<TaskRequest> = {}): TaskRequest {
  return {
    taskId: 'u/app-1#1/-/CREATE/1',
    clusterId: 'web',
    clusterUid: 'u',
    nodeId: 'app-1',
    incarnation: 1,
    run: 1,
    operation: '1',
    config: { hostname: 'web-app-1', flavor: 'small', image: 'host' },
    cluster: {},
    peersVersion: 1,
    peersOf: 'cluster/web',
    provider: { name: 'fault', type: 'fault', fields },
    ...more,
  };
}
