// A worker with all parts of the product, but for the cloud and SSH, which are simulated.
// Usage: node bench/simulated-worker.mjs ADDRESS KEYS [PORT]
// With PORT, a cloud that listens there; without, a provider and an automator that do nothing.
import { Agent } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { cloudProvider, emptyAutomator, emptyProvider } from './simulated-plugins.mjs';

const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const load = (path) => import(join(dist, path));
const { read } = await load('client/read.js');
const { createAbsences } = await load('activities/provider/absence.js');
const { createActivities } = await load('activities/table.js');
const { createInFlight } = await load('activities/in-flight.js');
const { readClusterRecords } = await load('worker/cluster-records.js');
const { readNodePools } = await load('worker/node-pools.js');
const { openInputs } = await load('worker/open-inputs.js');
const { collectGarbageSooner } = await load('worker/heap.js');
const contract = await load('plugins/contract.js');
const { openKeyRing } = await load('secrets/keys.js');
const { createRedactors } = await load('secrets/redact.js');
const { heartbeats } = await load('model/activities.js');
const { defaultLimits } = await load('model/cluster/limits.js');
const { siteWorkers } = await load('worker/queues.js');
const { createFolderStore } = await load('store/folder.js');
const { heddle } = await load('temporal-plugin.js');
const { readWorkflowRuns } = await load('worker/workflow-runs.js');

collectGarbageSooner();
const drop = () => {};
const tell = (message, more) => {
  // Of the workers that have activities alone.
  if (!message.startsWith('No workflows registered'))
    console.error(`worker: ${message}`, more?.error ?? more ?? '');
};
Runtime.install({
  logger: { trace: drop, debug: drop, info: drop, warn: tell, error: tell, log: drop },
  shutdownSignals: [],
});
const [, , address, keys, port] = process.argv;
const plugins = [heddle({ keys: openKeyRing({ folder: keys, create: false }) })];
const connection = await NativeConnection.connect({ address });
const temporal = new Client({ connection: await Connection.connect({ address }), plugins });
const runs = readWorkflowRuns(temporal);
const provider =
  port === undefined
    ? emptyProvider(contract)
    : cloudProvider(contract, new Agent({ keepAlive: true, maxSockets: 100 }), Number(port));
const automators = port === undefined ? [emptyAutomator(contract)] : [];
const registry = {
  provider: () => provider,
  providers: () => [provider],
  automators: () => automators,
  automator: () => automators[0],
  versions: () => [],
  close: async () => {},
};
const ignore = () => {};
const parts = {
  registry,
  providers: { cloud: { type: 'simulated', site: 'default', fields: {} } },
  installation: 'bench',
  inFlight: createInFlight(),
  log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
  logs: createFolderStore({ folder: join(keys, '..', 'logs') }),
  nodes: { probe: async () => ({ hostKey: 'simulated', bootId: '1' }), shell: () => ({}) },
  resolveSecrets: async (value) => ({ value, secrets: [] }),
  forbiddenReferences: () => [],
  redact: createRedactors(),
  limits: defaultLimits,
  features: { searchAttributes: true },
  automators: {},
  webhooks: {},
  rateLimiters: () => undefined,
  askPeers: (workflowId, request) =>
    read(temporal.workflow.getHandle(workflowId), { name: 'peers' }, request),
  claims: () => ({}),
  pools: readNodePools(temporal),
  absences: createAbsences(),
  serverNow: () => undefined,
  runs,
  clusters: readClusterRecords(temporal, runs),
};
const base = {
  connection,
  plugins,
  interceptors: { activity: [openInputs] },
  shutdownGraceTime: '1 second',
  maxHeartbeatThrottleInterval: heartbeats.intervalMs,
};
const activities = createActivities(parts);
const config = { site: 'default', stackTraces: false };
const workers = await Promise.all(
  siteWorkers(config, parts.providers).map((options) => Worker.create({ ...base, activities, ...options })),
);
const done = Promise.all(workers.map((worker) => worker.run()));
console.log('worker is ready');
process.on('message', (what) => {
  if (what === 'cpu') process.send(process.cpuUsage());
});
process.on('SIGTERM', () => workers.forEach((worker) => worker.shutdown()));
await done;
process.exit(0);
