// A worker with all parts of the product, but for the cloud and SSH, which are simulated.
// Usage: node bench/simulated-worker.mjs ADDRESS KEYS [PORT]
// With PORT, a cloud that listens there; without, a provider and an automator that do nothing.
import { Agent } from 'node:http';
import { dirname, join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createInFlight } from '../dist/activities/in-flight.js';
import { createAbsences } from '../dist/activities/provider/absence.js';
import { createActivities } from '../dist/activities/table.js';
import { read } from '../dist/client/read.js';
import { loadConfig } from '../dist/config/index.js';
import { prepareFolder } from '../dist/config/prepare-folder.js';
import { heartbeats } from '../dist/model/activities.js';
import { openKeyRing } from '../dist/secrets/keys.js';
import { createRedactors } from '../dist/secrets/redact.js';
import { secretSourcesOf } from '../dist/secrets/reference.js';
import { createFolderStore } from '../dist/store/folder.js';
import { heddle } from '../dist/temporal-plugin.js';
import { createClaims, locksOf } from '../dist/worker/account-workflows.js';
import { readClusterRecords } from '../dist/worker/cluster-records.js';
import { computersOf } from '../dist/worker/computers.js';
import { configuredParts } from '../dist/worker/configured-parts.js';
import { collectGarbageSooner } from '../dist/worker/heap.js';
import { keepLastPass } from '../dist/worker/last-pass.js';
import { leasesOf } from '../dist/worker/leases.js';
import { readNodePools } from '../dist/worker/node-pools.js';
import { openInputs } from '../dist/worker/open-inputs.js';
import { siteWorkers } from '../dist/worker/queues.js';
import { outputReader } from '../dist/worker/read-outputs.js';
import { openResourceCache, resourcesOf } from '../dist/worker/resources.js';
import { readWorkflowRuns } from '../dist/worker/workflow-runs.js';
import { clusterMessages } from '../dist/workflows/messages.js';
import { cloudProvider, emptyAutomator, emptyProvider } from './simulated-plugins.mjs';

collectGarbageSooner();
const drop = () => {};
/** @type {(message: string, more?: { error?: unknown }) => void} */
const tell = (message, more) => {
  // Of the workers that have activities alone.
  if (!message.startsWith('No workflows registered'))
    console.error(`worker: ${message}`, more?.error ?? more ?? '');
};
Runtime.install({
  logger: { trace: drop, debug: drop, info: drop, warn: tell, error: tell, log: drop },
  shutdownSignals: [],
});
const [, , address, keys = '', port] = process.argv;
const home = join(dirname(keys), 'simulated');
const config = loadConfig({ cwd: home, env: { HOME: home, HEDDLE_DATA_FOLDER: home } });
prepareFolder(config.dataFolder);
const keyRing = openKeyRing({ folder: keys, create: false });
const plugins = [heddle({ keys: keyRing })];
const connection = await NativeConnection.connect({ address });
const temporal = new Client({ connection: await Connection.connect({ address }), plugins });
const runs = readWorkflowRuns(temporal);
const provider =
  port === undefined
    ? emptyProvider()
    : cloudProvider(new Agent({ keepAlive: true, maxSockets: 100 }), Number(port));
const automator = emptyAutomator();
/** @type {import('../dist/plugins/registry.js').Registry} */
const registry = {
  provider: () => provider,
  providers: () => [provider],
  automators: () => (port === undefined ? [automator] : []),
  automator: () => automator,
  versions: () => [],
  close: async () => {},
};
const providers = { cloud: { type: 'simulated', site: config.site, fields: {} } };
const installation = 'bench';
const refuse = async () => {
  throw new Error('simulated nodes run nothing');
};
const resources = openResourceCache(temporal, config);
/** @type {import('../dist/activities/table.js').CoreParts} */
const parts = {
  ...configuredParts(
    { ...config, providers },
    { providers, automators: config.automators },
    { registry, temporal, secretSources: secretSourcesOf(config) },
  ),
  features: { searchAttributes: true },
  outputs: outputReader(temporal),
  findKey: (id) => void keyRing.find(id),
  countCall: drop,
  leases: leasesOf(temporal),
  computers: computersOf(temporal),
  registry,
  installation,
  inFlight: createInFlight(),
  log: { debug: drop, info: drop, warn: drop, error: drop },
  nodes: {
    probe: async () => ({ hostKey: 'simulated', bootId: '1' }),
    ping: async () => true,
    shell: () => ({ run: refuse, exec: refuse, putFile: refuse }),
    connect: refuse,
  },
  logs: createFolderStore({ folder: config.store.folder }),
  redact: createRedactors(),
  locks: (account) => locksOf(temporal, account),
  resources: resourcesOf(resources),
  askPeers: (workflowId, request) =>
    temporal.withDeadline(Date.now() + 20_000, () =>
      read(temporal.workflow.getHandle(workflowId), clusterMessages.queries.peers, request),
    ),
  claims: createClaims(temporal),
  runFolder: join(config.dataFolder, 'runs'),
  pools: readNodePools(temporal),
  absences: createAbsences(),
  runs,
  serverNow: () => undefined,
  clusters: readClusterRecords(temporal, runs),
  lastPass: keepLastPass(temporal, config.dataFolder, installation),
};
/** @satisfies {Partial<import('@temporalio/worker').WorkerOptions>} */
const base = {
  connection,
  plugins,
  interceptors: { activity: [openInputs] },
  shutdownGraceTime: '1 second',
  maxHeartbeatThrottleInterval: heartbeats.intervalMs,
};
const activities = createActivities(parts);
const workers = await Promise.all(
  siteWorkers(config, parts.providers).map((options) => Worker.create({ ...base, activities, ...options })),
);
const done = Promise.all(workers.map((worker) => worker.run()));
console.log('worker is ready');
process.on('message', (what) => {
  if (what === 'cpu') process.send?.(process.cpuUsage());
});
process.on('SIGTERM', () => workers.forEach((worker) => worker.shutdown()));
await done;
process.exit(0);
