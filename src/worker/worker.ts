import { hostname } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { NativeConnection, type WorkerOptions } from '@temporalio/worker';
import type { Logger } from 'pino';
import { createAbsences } from '../activities/provider/absence.js';
import { createInFlight, type InFlightList } from '../activities/in-flight.js';
import type { NodeAccess, NodeAddress } from '../activities/parts.js';
import { createActivities, type CoreParts } from '../activities/table.js';
import type { Config } from '../config/index.js';
import { refuseForeignSettings } from '../config/own-files.js';
import { heartbeats } from '../model/activities.js';
import { loadRegistry } from '../plugins/registry.js';
import type { KeyRing } from '../secrets/keys.js';
import { createRedactors } from '../secrets/redact.js';
import type { SecretSources } from '../secrets/reference.js';
import { registerSearchAttributes } from '../server/setup.js';
import { keepSchedules } from '../server/schedules.js';
import { createPool, type ConnectionPool } from '../ssh/pool.js';
import { probe } from '../ssh/probe.js';
import { ping } from './ping.js';
import { createShell } from '../ssh/shell.js';
import type { SshTarget } from '../ssh/target.js';
import { pruneLogsHourly } from '../store/prune-logs.js';
import { heddle } from '../temporal-plugin.js';
import { createClaims, locksOf } from './account-workflows.js';
import { readClusterRecords } from './cluster-records.js';
import { computersOf } from './computers.js';
import { readNodePools } from './node-pools.js';
import { openPluginCopies } from './plugin-copies.js';
import { builderWorkers, siteWorkers } from './queues.js';
import { openResourceCache, resourcesOf } from './resources.js';
import { installRuntime } from './runtime.js';
import { dumpStacks } from './stack-dump.js';
import { countKeyMisses } from './count-key-misses.js';
import { countTasks } from './count-tasks.js';
import { identityOf } from './identity.js';
import { leasesOf } from './leases.js';
import { openLogStore } from './log-store.js';
import { differencesFromOthers } from '../client/workers.js';
import { observeInstallation } from './observe.js';
import { publish } from './publish-metrics.js';
import { outputReader } from './read-outputs.js';
import { keepLastPass } from './last-pass.js';
import { publishLiveness } from './publish-liveness.js';
import type { ReloadState } from '../model/worker-identity.js';
import { checkSettings, configuredParts, withPools } from './configured-parts.js';
import { followConfig, type ConfigOutcome, type ReadConfig, type Reloadable } from './follow-config.js';
import { replaceable } from './replaceable.js';
import { runQueues, type QueueOptions } from './running-queues.js';
import { reloadConfig } from './reload-config.js';
import { openInputs } from './open-inputs.js';
import { readInstallation } from '../client/installation.js';
import { watchServerClock } from './server-clock.js';
import { shareServerTime } from '../client/server-clock.js';
import { watchInstallation } from './watch-installation.js';
import { watchSchedules } from './watch-schedules.js';
import { readWorkflowRuns } from './workflow-runs.js';
import { read } from '../client/read.js';
import { clusterMessages } from '../workflows/messages.js';

export interface HeddleWorkerOptions {
  readonly config: Config;
  readonly keyRing: KeyRing;
  readonly log: Logger;
  readonly secretSources: SecretSources;
  /** A builder builds images and transfers their files; other workers do everything else. */
  readonly role?: 'builder';
  /** How the configuration is read again after its file changed; without it, the worker keeps what it has. */
  readonly readConfig?: ReadConfig;
  /** Called when a changed configuration was applied or refused. */
  readonly onConfigured?: (outcome: ConfigOutcome) => void;
}

export interface HeddleWorker {
  /** Resolves when all its parts have shut down; rejects when one of them failed. */
  readonly done: Promise<void>;
  /** Stops polling, detaches from running scripts, and ends. */
  shutdown(): void;
  dumpStacks(): Promise<void>;
}

/** The options of Heddle's Temporal workers, one for each task queue, with all activities registered. */
export interface PreparedWorkers extends Reloadable {
  /** The first one runs the workflows, unless the role is builder. */
  readonly workers: readonly QueueOptions[];
  readonly temporal: Client;
  /** For workers of your own in the same process. */
  readonly connection: NativeConnection;
  /** For `createActivities`, to replace one of them by your own. */
  readonly parts: CoreParts;
  /** The namespace's UUID, which marks the machines; the workers must end when the server has another one. */
  readonly installation: string;
  /**
   * Resolves to the problem once this host's clock differs too much from the server's: the workers must end.
   */
  readonly clockBeyond: Promise<string>;
  readonly inFlight: InFlightList;
  /** Closes connections and plugins. Call it after all workers have ended. */
  close(): Promise<void>;
}

/** Makes the workers of `prepareWorkers` and runs them. */
export async function startWorker(options: HeddleWorkerOptions): Promise<HeddleWorker> {
  const { config, log } = options;
  installRuntime(log, config.metrics?.address);
  const prepared = await prepareWorkers(options);
  const queues = await runQueues(prepared.workers);
  const stopFollowing =
    options.readConfig === undefined
      ? () => undefined
      : followConfig(config, options.readConfig, prepared, queues, log, options.onConfigured);
  const shutdown = (): void => {
    stopFollowing();
    queues.shutdown();
  };
  const watch = watchInstallation(prepared.temporal, prepared.installation);
  let failure: Error | undefined;
  const endWith = (error: Error): void => {
    failure ??= error;
    log.fatal(error.message);
    shutdown();
  };
  void watch.replaced.then((other) => endWith(replacedError(config, prepared.installation, other)));
  void prepared.clockBeyond.then((problem) => endWith(new Error(problem)));
  const done = queues.done
    .then(() => prepared.close())
    .finally(() => watch.stop())
    .then(() => {
      if (failure !== undefined) throw failure;
    });
  log.info(
    { queues: queues.names(), namespace: config.temporal.namespace, site: config.site },
    'worker is ready',
  );
  return { done, shutdown, dumpStacks: () => dumpStacks(log, prepared.inFlight, prepared.temporal) };
}

/**
 * Loads plugins, connects to Temporal and prepares the options of all workers. Pass them to `Worker.create`,
 * with workflows and activities of your own added where you need them.
 * @throws ProblemsError if an account or an automator in the configuration is wrong.
 * @throws Error if this host's clock differs too much from the server's.
 */
export async function prepareWorkers({
  config,
  keyRing: ownKeyRing,
  log,
  secretSources,
  role,
}: HeddleWorkerOptions): Promise<PreparedWorkers> {
  // Before plugins are copied into the data folder, and run from there.
  refuseForeignSettings(config);
  const keyRing = countKeyMisses(ownKeyRing, publish);
  const copies = await openPluginCopies(config.dataFolder);
  const registry = await loadRegistry({
    folders: config.plugins,
    programs: config.programs,
    copyTo: copies.folder,
    log: { info: (message, attributes) => log.info({ ...attributes }, message) },
  });
  // Before anything is registered at the server.
  const checked = checkSettings(registry, config);
  warnOfPlaybooks(config, log);
  const { connection: connectionOptions, namespace } = config.temporal;
  const clock = await watchServerClock(connectionOptions, namespace, log);
  const connection = await NativeConnection.connect(connectionOptions);
  const onPlaintext = config.encryption === 'optional' ? 'pass' : undefined;
  const plugin = heddle({ keys: keyRing, namespace, onPlaintext });
  const temporal = new Client({ connection, namespace, plugins: [plugin] });
  shareServerTime(connection, () => clock.now());
  const installation = await readInstallation(temporal);
  const { missing, problem } = await registerSearchAttributes(connection, namespace);
  if (problem !== undefined) log.warn(problem);
  for (const unkept of await keepSchedules(temporal, config, keyRing.current().id)) log.warn(unkept);
  let stopWatchingSchedules = watchSchedules(temporal, config, log);
  const inFlight = createInFlight();
  const pool = createPool();
  const resources = openResourceCache(temporal, config);
  resources
    .clear()
    .catch((error: unknown) => log.warn({ error: String(error) }, 'old resources were not removed'));
  const stopPruning = pruneLogsHourly({
    folder: config.store.folder,
    bounds: config.store,
    say: (removed) => log.info({ removed }, 'old logs of tasks were removed'),
  });
  const logs = openLogStore(config, secretSources, (message) => log.warn(message));
  const surroundings = { registry, temporal, secretSources };
  const runs = readWorkflowRuns(temporal);
  const parts: CoreParts = {
    ...configuredParts(config, checked, surroundings),
    features: { searchAttributes: missing.length === 0 },
    outputs: outputReader(temporal),
    findKey: (id) => void keyRing.find(id),
    leases: leasesOf(temporal),
    computers: computersOf(temporal),
    registry,
    installation,
    inFlight,
    log,
    nodes: accessNodes(pool, config.runFolders),
    logs,
    redact: createRedactors(),
    locks: (provider) => locksOf(temporal, provider),
    resources: resourcesOf(resources),
    askPeers: (workflowId, request) =>
      temporal.withDeadline(Date.now() + 20_000, () =>
        read(temporal.workflow.getHandle(workflowId), clusterMessages.queries.peers, request),
      ),
    claims: createClaims(temporal),
    runFolder: join(config.dataFolder, 'runs'),
    pools: readNodePools(temporal),
    absences: createAbsences(),
    countCall: ({ account, result, ms }) =>
      publish([
        { name: 'heddle_provider_calls', tags: { account, result }, value: 1 },
        { name: 'heddle_provider_call_duration', tags: { account }, value: ms / 1_000 },
      ]),
    runs,
    serverNow: () => clock.now(),
    clusters: readClusterRecords(temporal, runs),
    lastPass: keepLastPass(temporal, config.dataFolder, installation),
    builder: role === 'builder' ? { ...config.builder, name: hostname() } : undefined,
  };
  let current: Current = { config, parts, reload: { restart: [] } };
  const identityNow = (): string => {
    const { providers, automators } = current.parts;
    const used = { ...current.config, providers: onlyWritten(providers, current.config), automators };
    return identityOf(used, registry, keyRing, current.reload);
  };
  const identity = identityNow();
  // Workers run even if the server does not show them the other workers.
  const differences = await differencesFromOthers(temporal, identity).catch((error: unknown) => [
    `this worker's configuration could not be compared with that of others: ${String(error)}`,
  ]);
  for (const difference of differences) log.warn(difference);
  const stopPublishing = publishLiveness(connectionOptions, namespace, identityNow);
  const stopObserving = observeInstallation(config, role === 'builder' ? undefined : temporal, log);
  const base = {
    connection,
    namespace,
    identity,
    plugins: [plugin],
    interceptors: { activity: [countTasks(publish), openInputs] },
    shutdownGraceTime: '2 seconds',
    shutdownForceTime: '30 seconds',
    maxHeartbeatThrottleInterval: heartbeats.intervalMs,
  } as const satisfies Partial<WorkerOptions>;
  const replaced = replaceable(createActivities(parts));
  const workersOf = (used: Config): readonly QueueOptions[] =>
    (role === 'builder' ? builderWorkers(used) : siteWorkers(used, withPools(used))).map((options) => ({
      ...base,
      activities: replaced.activities,
      ...options,
    }));
  return {
    workers: workersOf(config),
    refuse: () => {
      current = { ...current, reload: { ...current.reload, refused: true } };
    },
    reload: (next, written) => {
      const { config: used, restart } = reloadConfig(current.config, next, written);
      const nodes = accessNodes(pool, used.runFolders);
      const newParts = {
        ...parts,
        nodes,
        ...configuredParts(used, checkSettings(registry, used), surroundings),
      };
      return {
        workers: workersOf(used),
        restart,
        apply: async () => {
          replaced.replace(createActivities(newParts));
          current = { config: used, parts: newParts, reload: { restart } };
          warnOfPlaybooks(used, log);
          stopWatchingSchedules();
          for (const unkept of await keepSchedules(temporal, used, keyRing.current().id)) log.warn(unkept);
          stopWatchingSchedules = watchSchedules(temporal, used, log);
        },
      };
    },
    temporal,
    connection,
    parts,
    installation,
    clockBeyond: clock.beyond,
    inFlight,
    close: async () => {
      stopPruning();
      stopObserving();
      await clock.stop();
      stopWatchingSchedules();
      await stopPublishing();
      await logs.close();
      await pool.closeAll();
      await registry.close();
      copies.close();
      await connection.close();
    },
  };
}

function warnOfPlaybooks({ secrets, automators }: Config, log: Logger): void {
  if (secrets.allow !== undefined && automators['ansible'] !== undefined) log.warn(playbooksReadSecrets);
}

const playbooksReadSecrets =
  'secrets.allow does not restrict automator ansible: a playbook of a cluster file can run commands on this worker, and reads whatever its user may read. ' +
  'Remove ansible from `automators` in heddle.yaml, or run it on a separate site whose workers hold no secrets other than those that cluster files may name';

function replacedError({ temporal: { connection, namespace } }: Config, known: string, other: string): Error {
  return new Error(
    `The Temporal server at ${connection.address} now has another database: namespace ${namespace} is ${other}, and was ${known} when this worker started. ` +
      'Restart the worker to use the new database; machines of the old one stay until they are deleted at their providers',
  );
}

/** The dependencies of new attempts, and the result of the last change of heddle.yaml. */
interface Current {
  readonly config: Config;
  readonly parts: CoreParts;
  readonly reload: ReloadState;
}

/**
 * Without the account that Heddle adds in the worker's own site, in which workers of two sites would differ.
 */
function onlyWritten(
  providers: Config['providers'],
  written: Pick<Config, 'providers'>,
): Config['providers'] {
  return Object.fromEntries(
    Object.entries(providers).filter(([name]) => written.providers[name] !== undefined),
  );
}

/** How tasks reach nodes: over the connections of one pool. */
function accessNodes(pool: ConnectionPool, runFolders: Config['runFolders']): NodeAccess {
  return {
    probe: async (address, signal, { keepsConnection = false, acceptsOpen = false } = {}) => {
      const target = targetOf(address);
      const open = acceptsOpen ? pool.openConnection(target) : undefined;
      if (open !== undefined) return { hostKey: open.hostKey };
      return probe(target, {
        signal,
        openJump: (jump) => pool.acquire(jump, signal),
        keep: keepsConnection
          ? (connection) => pool.add({ ...target, hostKey: connection.hostKey }, connection)
          : undefined,
      });
    },
    ping: async ({ host, jump }, signal) => (jump === undefined ? ping(host, signal) : undefined),
    connect: async (address, { host, port }, signal) =>
      (await pool.acquire(targetOf(address), signal)).forward(host, port),
    shell: (address, { timeoutMs, ...options }) => {
      const shell = createShell({ ...options, pool, runFolders, target: targetOf(address) });
      return timeoutMs === undefined
        ? shell
        : { ...shell, run: (script) => shell.run({ ...script, timeoutMs: script.timeoutMs ?? timeoutMs }) };
    },
  };
}

function targetOf({ key, jump, ...address }: NodeAddress): SshTarget {
  return { ...address, privateKey: key, jump: jump && { ...targetOf(jump), hostKey: jump.hostKey } };
}
