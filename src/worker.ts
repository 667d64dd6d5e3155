import { fileURLToPath } from 'node:url';
import { Client, WithStartWorkflowOperation, WorkflowNotFoundError } from '@temporalio/client';
import { NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createAbsences } from './activities/absence.js';
import { createTaskActivities } from './activities/dispatch.js';
import { createEarlierRunsActivity } from './activities/earlier-runs.js';
import { createInFlight } from './activities/in-flight.js';
import { createAccountActivities } from './activities/machine/describe-account.js';
import { createMachineActivities } from './activities/machine/dispatch.js';
import { createLookActivities } from './activities/looks.js';
import type { ActivityParts, NodeAccess, NodeAddress } from './activities/parts.js';
import { createPlanActivity } from './activities/plan.js';
import { createPlanPoolActivity } from './activities/plan-pool.js';
import { createSweepActivities } from './activities/sweep-ground.js';
import { readClusterRecords } from './cluster-records.js';
import type { Config } from './config.js';
import type { Json } from './model/json.js';
import { claimsWorkflowId, claimsWorkflowType, coreQueue, providerQueue, siteQueue } from './model/names.js';
import { PluginError, type Claims } from './plugins/contract.js';
import { checkAccounts, checkAutomators } from './plugins/check-accounts.js';
import { loadRegistry } from './plugins/registry.js';
import type { KeyRing } from './secrets/keys.js';
import { allowReferences, forbiddenReferences as findForbidden } from './secrets/allowed.js';
import { createRedactor } from './secrets/redact.js';
import { resolveSecrets, SecretError, type SecretSources } from './secrets/reference.js';
import { registerSearchAttributes } from './server/setup.js';
import { keepSweepSchedule } from './server/sweep-schedule.js';
import { createPool, type ConnectionPool } from './ssh/pool.js';
import { probe } from './ssh/probe.js';
import { createShell } from './ssh/shell.js';
import type { SshTarget } from './ssh/target.js';
import { dumpStacks } from './stack-dump.js';
import { createFolderStore } from './store/folder.js';
import { heddle } from './temporal-plugin.js';
import { readWorkflowRuns } from './workflow-runs.js';
import { heldClaimsQuery, peersQuery, releaseClaimUpdate, takeClaimUpdate } from './workflows/messages.js';

export interface HeddleWorkerOptions {
  readonly config: Config;
  readonly keyRing: KeyRing;
  readonly log: Logger;
  readonly secretSources: SecretSources;
}

export interface HeddleWorker {
  /** Resolves when all its parts have shut down; rejects when one of them failed. */
  readonly done: Promise<void>;
  /** Stops taking tasks, lets go of what goes on at nodes, and ends. */
  shutdown(): void;
  dumpStacks(): Promise<void>;
}

/** Makes a worker of all the parts and starts it: one Temporal worker for each task queue it serves. */
export async function startWorker({ config, keyRing, log, secretSources }: HeddleWorkerOptions): Promise<HeddleWorker> {
  installRuntime(log);
  const registry = await loadRegistry({
    folders: config.pluginFolders, programs: config.programs, log: { info: (message, attributes) => log.info({ ...attributes }, message) },
  });
  const providers = checkAccounts(registry, config.providers, config.locate);
  const automators = checkAutomators(registry, config.automators, config.locate);
  const { connection: connectionOptions, namespace } = config.temporal;
  const connection = await NativeConnection.connect(connectionOptions);
  const plugin = heddle({ keys: keyRing, namespace, ...(config.encryption === 'optional' ? { onPlaintext: 'pass' } : {}) });
  const temporal = new Client({ connection, namespace, plugins: [plugin] });
  const { missing, problem } = await registerSearchAttributes(connection, namespace);
  if (problem !== undefined) log.warn(problem);
  const unswept = await keepSweepSchedule(temporal, config.sweep);
  if (unswept !== undefined) log.warn(unswept);
  const installation = await readInstallation(temporal, namespace);
  const inFlight = createInFlight();
  const allows = allowReferences(config.allowedReferences);
  const forbiddenReferences = (value: Json): readonly (readonly (string | number)[])[] => findForbidden(value, allows);
  const pool = createPool();
  const parts: ActivityParts = {
    registry, providers, automators, installation, inFlight, log,
    nodes: accessNodes(pool), logs: createFolderStore({ folder: config.storeFolder }),
    resolveSecrets: async (value, place) => resolveSecrets(value, secretSources, place).catch((error: unknown) => {
      throw error instanceof SecretError ? new PluginError('Auth', error.message, { cause: error }) : error;
    }),
    forbiddenReferences, redact: createRedactor,
    askPeers: (workflowId, request) => temporal.withDeadline(Date.now() + 20_000, () => temporal.workflow.getHandle(workflowId).query(peersQuery, request)),
    claims: (provider) => claimsOf(temporal, provider), absences: createAbsences(), runs: readWorkflowRuns(temporal), clusters: readClusterRecords(temporal),
  };
  const base = {
    connection, namespace, plugins: [plugin], shutdownGraceTime: '2 seconds', shutdownForceTime: '30 seconds',
    // The SDK would hold heartbeats back for four fifths of their timeout, and leave a second until a false alarm.
    maxHeartbeatThrottleInterval: '2 seconds',
  } as const satisfies Partial<WorkerOptions>;
  const looks = createLookActivities(parts);
  const workers = await Promise.all([
    Worker.create({ ...base, ...coreOptions, activities: { ...createPlanActivity({ registry, providers, automators, forbiddenReferences, limits: config.limits, features: { searchAttributes: missing.length === 0 } }), ...createPlanPoolActivity({ registry, providers, forbiddenReferences }), ...createEarlierRunsActivity(parts), ...createSweepActivities(parts), ...createAccountActivities({ registry, providers, loadsAtOnce: config.loadsAtOnce }) } }),
    ...taskWorkers(config).map((options) => Worker.create({ ...base, ...options, activities: { ...createTaskActivities(parts), ...createMachineActivities(parts), ...looks } })),
  ]);
  const done = Promise.all(workers.map((worker) => worker.run())).then(async () => {
    await pool.closeAll();
    await registry.close();
    await connection.close();
  });
  log.info({ queues: workers.map((worker) => worker.options.taskQueue), namespace, site: config.site }, 'worker is ready');
  return {
    done,
    shutdown: () => {
      for (const worker of workers.filter((candidate) => candidate.getState() === 'RUNNING')) worker.shutdown();
    },
    dumpStacks: () => dumpStacks(log, inFlight, temporal),
  };
}

/** The workflows as they were bundled by the build. */
const workflowBundle = { codePath: fileURLToPath(new URL('../dist/workflow-bundle.js', import.meta.url)) };

const coreOptions = {
  taskQueue: coreQueue, workflowBundle, maxCachedWorkflows: 500, maxConcurrentWorkflowTaskExecutions: 40,
  // After a crash the next worker waits no longer than this for the one that had the workflow in its memory.
  stickyQueueScheduleToStartTimeout: '1 second',
} as const;

function taskWorkers(config: Config): readonly (Partial<WorkerOptions> & { readonly taskQueue: string })[] {
  const accounts = Object.entries(config.providers).filter(([, account]) => account.site === config.site);
  return [
    { taskQueue: siteQueue(config.site), maxConcurrentActivityTaskExecutions: 300 },
    ...accounts.map(([name, { limits }]) => ({
      taskQueue: providerQueue(config.site, name), maxConcurrentActivityTaskExecutions: limits?.concurrency ?? 50,
      ...(limits?.ratePerSecond === undefined ? {} : { maxTaskQueueActivitiesPerSecond: limits.ratePerSecond }),
    })),
  ];
}

/** The SDK's own log lines join ours. */
function installRuntime(log: Logger): void {
  const write = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, meta?: object): void => log[level]({ ...meta }, message);
  Runtime.install({
    logger: {
      // The SDK's own debugging tells of every workflow task: too much to be read.
      trace: () => undefined, debug: () => undefined, info: write('info'), warn: write('warn'), error: write('error'),
      log: (level, message, meta) => {
        if (level !== 'TRACE' && level !== 'DEBUG') write(level === 'INFO' ? 'info' : level === 'WARN' ? 'warn' : 'error')(message, meta);
      },
    },
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
    shutdownSignals: [],
  });
}

/** The namespace's UUID: the mark of our machines. */
async function readInstallation(temporal: Client, namespace: string): Promise<string> {
  const { namespaceInfo } = await temporal.workflowService.describeNamespace({ namespace });
  return namespaceInfo?.id ?? namespace;
}

function accessNodes(pool: ConnectionPool): NodeAccess {
  return {
    probe: (address, signal) => probe(targetOf(address), { signal, openJump: (jump) => pool.acquire(jump, signal) }),
    connect: async (address, { host, port }, signal) => (await pool.acquire(targetOf(address), signal)).forward(host, port),
    shell: (address, { timeoutMs, ...options }) => {
      const shell = createShell({ ...options, pool, target: targetOf(address) });
      return timeoutMs === undefined ? shell : { ...shell, run: (script) => shell.run({ timeoutMs, ...script }) };
    },
  };
}

function targetOf({ key, jump, ...address }: NodeAddress): SshTarget {
  return {
    ...address, ...(key === undefined ? {} : { privateKey: key }),
    ...(jump === undefined ? {} : { jump: { ...targetOf(jump), hostKey: jump.hostKey } }),
  };
}

function claimsOf(temporal: Client, provider: string): Claims {
  const workflowId = claimsWorkflowId(provider);
  const start = (): WithStartWorkflowOperation<() => Promise<void>> => new WithStartWorkflowOperation<() => Promise<void>>(claimsWorkflowType, {
    workflowId, taskQueue: coreQueue, args: [], workflowIdConflictPolicy: 'USE_EXISTING', staticSummary: `machines of ${provider} and who has them`,
  });
  return {
    take: async (key, candidates) =>
      (await temporal.workflow.executeUpdateWithStart(takeClaimUpdate, { args: [key, candidates], startWorkflowOperation: start() })) ?? undefined,
    release: async (key) => {
      await temporal.workflow.executeUpdateWithStart(releaseClaimUpdate, { args: [key], startWorkflowOperation: start() });
    },
    held: async () => {
      try {
        return await temporal.workflow.getHandle(workflowId).query(heldClaimsQuery);
      } catch (error) {
        // Nobody has claimed anything of this account yet.
        if (error instanceof WorkflowNotFoundError) return {};
        throw error;
      }
    },
  };
}
