import type { PreviousRunsRequest } from '../../../src/model/node/probe.js';
import type { PackedPlanRequest } from '../../../src/model/cluster/messages.js';
import type { PlanPoolRequest } from '../../../src/model/pool/messages.js';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { createAbsences } from '../../../src/activities/provider/absence.js';
import { createTaskActivities } from '../../../src/activities/table.js';
import { findStart } from '../../../src/activities/find-start.js';
import { findPreviousRuns } from '../../../src/activities/cluster/previous-runs.js';
import { createInFlight } from '../../../src/activities/in-flight.js';
import type { ActivityParts } from '../../../src/activities/parts.js';
import { servePlan } from '../../../src/activities/cluster/plan.js';
import { planPool } from '../../../src/activities/pool/plan.js';
import { HeddleClient } from '../../../src/client/index.js';
import type { WaitResult } from '../../../src/client/wait.js';
import {
  coreQueue,
  groupSiteQueue,
  poolAccount,
  providerQueue,
  siteQueue,
  workflowQueues,
} from '../../../src/model/names.js';
import type { Limits } from '../../../src/model/cluster/limits.js';
import { unreadHistory } from '../../../src/model/unread-history.js';
import { loadRegistry, type Registry } from '../../../src/plugins/registry.js';
import { openKeyRing } from '../../../src/secrets/keys.js';
import { createRedactor } from '../../../src/secrets/redact.js';
import { readNodePools } from '../../../src/worker/node-pools.js';
import { metricSinks } from '../../../src/worker/publish-metrics.js';
import { openInputs } from '../../../src/worker/open-inputs.js';
import { noLastPass } from '../activities/parts.js';
import { readClusterRecords } from '../../../src/worker/cluster-records.js';
import { heddle } from '../../../src/temporal-plugin.js';
import { readWorkflowRuns } from '../../../src/worker/workflow-runs.js';
import { read } from '../../../src/client/read.js';
import { clusterMessages } from '../../../src/workflows/messages.js';
import { configSchema } from '../../../src/schema/config.js';
import { makeNamespace } from '../namespace.js';
import { openCloud, type Cloud } from './cloud.js';
import { openPoints, type Points } from './points.js';

export interface HarnessOptions {
  readonly temporalAddress: string;
  readonly workflowBundlePath: string;
  readonly limits?: Partial<Limits>;
  /** 0: every workflow task replays the whole history. */
  readonly cachedWorkflows?: number;
  /** That of another harness: the machines of one account, for two namespaces. */
  readonly cloud?: Cloud;
}

/**
 * The product's workflows and activities on a real server, in the process of the test, with machines in
 * memory. It is quick enough to play thousands of tasks, and every task can be met at a named point.
 */
export interface Harness {
  readonly client: HeddleClient;
  readonly namespace: string;
  readonly cloud: Cloud;
  readonly points: Points;
  /**
   * Waits until an operation has ended or is held. Looks when its tasks have fallen silent: every look costs
   * a workflow task.
   */
  waitFor(name: string, operation: string): Promise<WaitResult>;
  /** What the SDK warned of: workflow tasks that failed, among others. */
  readonly warnings: readonly string[];
  /**
   * From now on a first apply of the cluster may be refused: it ends as a failed workflow, and
   * the SDK warns of that.
   */
  expectRefusal(name: string): void;
  stop(): Promise<void>;
}

const site = 'here';
const account = 'memory';
const warnings: string[] = [];
const refused = new Set<unknown>();

export async function openHarness({
  temporalAddress,
  workflowBundlePath,
  limits = {},
  cachedWorkflows = 500,
  cloud = openCloud(),
}: HarnessOptions): Promise<Harness> {
  installRuntime();
  const folder = await mkdtemp(join(tmpdir(), 'heddle-faults-'));
  const keyRing = openKeyRing({ folder: join(folder, 'keys'), create: true });
  const connection = await Connection.connect({ address: temporalAddress });
  const workerConnection = await NativeConnection.connect({ address: temporalAddress });
  const namespace = await makeNamespace(connection, 'faults');
  const plugins = [heddle({ keys: keyRing, namespace })];
  const temporal = new Client({ connection, namespace, plugins });
  const points = openPoints();
  const registry = withMemory(await loadRegistry({ folders: [], log: { info: () => undefined } }), cloud);
  const parts = await partsOf(temporal, registry, cloud);
  const planning = {
    ...parts,
    features: { searchAttributes: false },
    settings: configSchema.parse({ loadsAtOnce: 1, scale: limits }),
    forbiddenReferences: () => [],
    outputs: { outputs: async () => undefined, sources: async () => undefined },
  };
  const base: Omit<WorkerOptions, 'taskQueue'> = {
    connection: workerConnection,
    namespace,
    plugins,
    interceptors: { activity: [openInputs, ...points.interceptors] },
    shutdownGraceTime: '1 second',
    shutdownForceTime: '5 seconds',
    maxHeartbeatThrottleInterval: 100,
    defaultHeartbeatThrottleInterval: 100,
  };
  const tasks = createTaskActivities(parts);
  const workers = await Promise.all([
    ...workflowQueues.map((taskQueue) =>
      Worker.create({
        ...base,
        taskQueue,
        workflowBundle: { codePath: workflowBundlePath },
        sinks: metricSinks,
        maxCachedWorkflows: cachedWorkflows,
      }),
    ),
    Worker.create({
      ...base,
      taskQueue: coreQueue,
      activities: {
        PLAN: (request: PackedPlanRequest) => servePlan(planning, request),
        PLAN_POOL: (request: PlanPoolRequest) => planPool(planning, request),
        FIND_START: (request: { readonly start: string }) => findStart(parts, request),
        FIND_PREVIOUS_RUNS: (request: PreviousRunsRequest) => findPreviousRuns(parts, request),
      },
    }),
    ...[
      siteQueue(site),
      groupSiteQueue(site),
      providerQueue(site, account),
      providerQueue(site, poolAccount),
    ].map((taskQueue) => Worker.create({ ...base, taskQueue, activities: tasks })),
  ]);
  const done = Promise.all(workers.map((worker) => worker.run()));
  // The server and the worker are there: on a busy machine they only take longer than a person would wait.
  const client = new HeddleClient(temporal, { by: 'test', busyMs: 60_000 });
  return {
    client,
    namespace,
    cloud,
    points,
    warnings,
    expectRefusal(name) {
      refused.add(`cluster/${name}`);
    },
    async waitFor(name, operation) {
      await points.silence(name);
      return client.waitFor(name, operation, { everyMs: 500 });
    },
    async stop() {
      for (const worker of workers) worker.shutdown();
      await done;
      await registry.close();
      await workerConnection.close();
      await connection.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Whether an entry of the SDK's log reports a query that a worker refused; its client asks again. */
function isUnreadHistory(meta: object = {}): boolean {
  const error: unknown = Reflect.get(meta, 'error');
  return error instanceof Error && error.message === unreadHistory.message;
}

function installRuntime(): void {
  if (Reflect.get(Runtime, '_instance') !== undefined) return;
  const keep = (message: string, meta?: object): void => {
    // Tasks that fail are what these tests are about: attempts, and what the workflow says of them.
    const isExpected =
      message.startsWith('Activity ') ||
      isUnreadHistory(meta) ||
      (message === 'Workflow failed' && refused.has(Reflect.get(meta ?? {}, 'workflowId'))) ||
      (meta !== undefined && Reflect.get(meta, 'sdkComponent') === 'workflow');
    if (!isExpected) warnings.push(`${message} ${meta === undefined ? '' : JSON.stringify(meta)}`);
  };
  const drop = (): void => undefined;
  Runtime.install({
    logger: {
      trace: drop,
      debug: drop,
      info: drop,
      warn: keep,
      error: keep,
      log: (level, message, meta) => {
        if (level === 'WARN' || level === 'ERROR') keep(message, meta);
      },
    },
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
    shutdownSignals: [],
  });
}

function withMemory(registry: Registry, { provider }: Cloud): Registry {
  return {
    ...registry,
    provider: (type) => (type === provider.descriptor.name ? provider : registry.provider(type)),
  };
}

async function partsOf(temporal: Client, registry: Registry, cloud: Cloud): Promise<ActivityParts> {
  const drop = (): void => undefined;
  const { namespaceInfo } = await temporal.workflowService.describeNamespace({
    namespace: temporal.options.namespace,
  });
  const runs = readWorkflowRuns(temporal);
  return {
    automators: {},
    registry,
    nodes: cloud.nodes,
    providers: {
      [account]: { type: 'memory', site, fields: {} },
      [poolAccount]: { type: 'pool', site, fields: {} },
    },
    installation: namespaceInfo?.id ?? '',
    logs: { append: () => Promise.resolve(), flush: drop },
    log: { debug: drop, info: drop, warn: drop, error: drop },
    inFlight: createInFlight(),
    resolveSecrets: (value) => Promise.resolve({ value, secrets: [] }),
    forbiddenReferences: () => [],
    redact: createRedactor,
    askPeers: (workflowId, request) =>
      temporal.withDeadline(Date.now() + 20_000, () =>
        read(temporal.workflow.getHandle(workflowId), clusterMessages.queries.peers, request),
      ),
    claims: () => ({
      take: () => Promise.resolve(undefined),
      release: () => Promise.resolve(),
      held: () => Promise.resolve({}),
    }),
    runFolder: tmpdir(),
    settings: configSchema.parse({ loadsAtOnce: 1 }),
    pools: readNodePools(temporal),
    absences: createAbsences(),
    locks: () => ({ take: () => Promise.resolve(true), release: () => Promise.resolve() }),
    rateLimiters: () => undefined,
    countCall: () => undefined,
    resources: () => Promise.reject(new Error('no resources here')),
    runs,
    serverNow: () => undefined,
    clusters: readClusterRecords(temporal, runs),
    lastPass: noLastPass,
  };
}
