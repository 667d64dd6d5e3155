// What the benchmarks share: a Temporal server, worker processes and a client of the built product, all of
// them in a folder of their own and on loopback.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { stringify } from 'yaml';
import { startServer } from '../dist/server/start.js';
import { findBinary } from '../dist/server/find-binary.js';
import { heddleSearchAttributes } from '../dist/server/setup.js';
import { openKeyRing } from '../dist/secrets/keys.js';
import { heddle } from '../dist/temporal-plugin.js';
import { HeddleClient, HeddleError, parseSpec } from '../dist/client/index.js';
import { formatProblem } from '../dist/schema/problem.js';
import { workerEnvironment } from '../dist/config/child-environment.js';
import { loadConfig } from '../dist/config/index.js';

export const dist = fileURLToPath(new URL('../dist/', import.meta.url));

/**
 * @import { ChildProcess } from 'node:child_process'
 * @typedef {Awaited<ReturnType<typeof openStack>>} Stack
 */

/**
 * Starts a server, or uses the one that BENCH_SERVER names ("ADDRESS PID[,PID...]", whose CPU time counts), and gives
 * a client; `startWorker` adds worker processes with this heddle.yaml.
 */
export async function openStack({ config = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const server =
    runningServer(loadConfig({ cwd: '/' }).environment['BENCH_SERVER']) ?? (await startOwnServer(folder));
  const keys = join(folder, 'keys');
  const keyRing = openKeyRing({ folder: keys, create: true });
  const connection = await Connection.connect({ address: server.address });
  const temporal = new Client({ connection, plugins: [heddle({ keys: keyRing })] });
  /** @type {ChildProcess[]} */
  const children = [];
  const serverCpu = () => server.pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
  return {
    folder,
    server,
    /** CPU time of the server in seconds. */
    serverCpu,
    temporal,
    client: new HeddleClient(temporal, { by: 'bench' }),
    /**
     * A worker of the product.
     * @param {string} [name]
     * @param {readonly string[]} [nodeOptions]
     */
    async startWorker(name = 'worker', nodeOptions = []) {
      const dataFolder = join(folder, name);
      mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
      const file = join(folder, `${name}.yaml`);
      writeFileSync(file, stringify({ dataFolder, keys: { folder: keys }, ...config }));
      const env = {
        PATH: '/usr/bin:/bin',
        HOME: dataFolder,
        TEMPORAL_ADDRESS: server.address,
        TEMPORAL_NAMESPACE: 'default',
      };
      const words = [...nodeOptions, join(dist, 'worker/main.js'), '--config', file];
      return { dataFolder, ...(await startProgram(children, words, env)) };
    },
    /** A worker of the product whose provider and automator do nothing. @param {readonly string[]} [nodeOptions] */
    startEmptyWorker: (nodeOptions = []) =>
      startProgram(children, [...nodeOptions, here('simulated-worker.mjs'), server.address, keys]),
    /** A plain Temporal worker. @param {readonly string[]} [nodeOptions] */
    startBareWorker: (nodeOptions = []) =>
      startProgram(children, [...nodeOptions, here('bare-worker.mjs'), server.address]),
    /**
     * Times an asynchronous function that resolves to its number of tasks.
     * @param {{ pid: number }} worker
     * @param {() => Promise<number>} work
     */
    async measure({ pid }, work) {
      const before = { worker: cpuSeconds(pid), server: serverCpu() };
      const began = performance.now();
      const tasks = await work();
      const seconds = (performance.now() - began) / 1_000;
      /** @param {number} cpu */
      const each = (cpu) => (cpu * 1_000) / tasks;
      return {
        tasks,
        seconds,
        rate: tasks / seconds,
        workerMs: each(cpuSeconds(pid) - before.worker),
        serverMs: each(serverCpu() - before.server),
      };
    },
    async close() {
      for (const child of children) await end(child, 'SIGTERM');
      await connection.close();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @param {string | undefined} named */
function runningServer(named) {
  if (named === undefined) return undefined;
  const [address, pids = ''] = named.split(' ');
  return { address, pids: pids.split(',').map(Number), stop: async () => {} };
}

/** Starts a Temporal server with its data in this folder. @param {string} folder */
export async function startOwnServer(folder) {
  const { cacheFolder, environment } = loadConfig({ cwd: '/' });
  const binary = await findBinary({
    temporalCli: environment['TEMPORAL_CLI'],
    path: environment['PATH'],
    cacheFolder,
    say: () => {},
  });
  const server = await startServer({
    binary: binary.path,
    dataFolder: join(folder, 'server'),
    port: 0,
    ui: false,
    searchAttributes: heddleSearchAttributes,
    say: () => {},
  });
  return { address: server.address, pids: [server.pid], stop: () => server.stop() };
}

/** @param {string} file */
function here(file) {
  return fileURLToPath(new URL(file, import.meta.url));
}

/**
 * @param {Record<string, string>} [env]
 * @param {ChildProcess[]} children
 * @param {readonly string[]} words
 */
async function startProgram(children, words, env = {}) {
  const child = spawn(process.execPath, words, {
    env: workerEnvironment(env, {}),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  while (!output.includes('worker is ready')) {
    if (child.exitCode !== null) throw new Error(`the worker ended: ${output}`);
    await delay(5);
  }
  const { pid } = child;
  if (pid === undefined) throw new Error('the worker has no process id');
  return { pid, output: () => output, stop: () => end(child, 'SIGTERM') };
}

/**
 * Repeats an apply until a worker answers. The same spec again is the same operation.
 * @template Reply
 * @param {() => Promise<Reply>} apply
 */
export async function untilWorker(apply) {
  for (;;) {
    try {
      return await apply();
    } catch (error) {
      if (!(error instanceof HeddleError && error.code === 'NoWorker')) throw error;
    }
  }
}

/**
 * Ends a process unless it has ended.
 * @param {ChildProcess} child
 * @param {NodeJS.Signals} signal
 */
export async function end(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

/** CPU time of a process in seconds, without its children. @param {number} pid */
export function cpuSeconds(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) / 100;
}

/** Peak of the resident memory of a process, in MB. @param {number} pid */
export function peakMemory(pid) {
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);
}

/** The normalised spec of a cluster. @param {object} written @throws Error if it is invalid */
export function specOf(written) {
  const reading = parseSpec(written);
  if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('; '));
  return reading.spec;
}

/**
 * Specification of a cluster whose tasks do nothing, or wait: nine for each node, two services of three actions.
 * @param {string} name
 * @param {number} nodes
 */
export function emptyCluster(name, nodes, waitSeconds = 0) {
  const fields = { waitMs: waitSeconds * 1_000 };
  const actions = Object.fromEntries(
    ['install', 'configure', 'start'].map((action) => [action, { type: 'simulated', fields }]),
  );
  const service = { peers: 'none', actions };
  return specOf({
    name,
    nodes: {
      app: { count: nodes, provider: 'cloud', hardware: 'small', image: 'any', services: ['a', 'b'] },
    },
    services: { a: service, b: service },
  });
}

/** CPU time in seconds and forks of the whole machine since its start. */
export function machineCounters() {
  const stat = readFileSync('/proc/stat', 'utf8');
  const [user, nice, system, , , irq, softirq] = stat.split('\n')[0].trim().split(/\s+/).slice(1).map(Number);
  return {
    cpu: (user + nice + system + irq + softirq) / 100,
    forks: Number(/^processes (\d+)/m.exec(stat)?.[1]),
  };
}
