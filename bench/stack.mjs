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

export const dist = fileURLToPath(new URL('../dist/', import.meta.url));
export const load = (path) => import(join(dist, path));

const { startServer } = await load('server/start.js');
const { findBinary } = await load('server/find-binary.js');
const { heddleSearchAttributes } = await load('server/setup.js');
const { openKeyRing } = await load('secrets/keys.js');
const { heddle } = await load('temporal-plugin.js');
const { HeddleClient } = await load('client/index.js');
const { loadConfig } = await load('config/index.js');

/** Starts a server and gives a client; `startWorker` adds worker processes with this heddle.yaml. */
export async function openStack({ config = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const { cacheFolder, environment } = loadConfig({ cwd: '/' });
  const binary = await findBinary({
    temporalCli: environment.TEMPORAL_CLI,
    path: environment.PATH,
    cacheFolder,
    download: false,
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
  const keys = join(folder, 'keys');
  const keyRing = openKeyRing({ folder: keys, create: true });
  const connection = await Connection.connect({ address: server.address });
  const temporal = new Client({ connection, plugins: [heddle({ keys: keyRing })] });
  const children = [];
  return {
    folder,
    server,
    temporal,
    client: new HeddleClient(temporal, { by: 'bench' }),
    async startWorker(name = 'worker', nodeOptions = []) {
      const dataFolder = join(folder, name);
      mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
      const file = join(folder, `${name}.yaml`);
      writeFileSync(file, stringify({ dataFolder, keys: { folder: keys }, ...config }));
      const child = spawn(
        process.execPath,
        [...nodeOptions, join(dist, 'worker/main.js'), '--config', file],
        {
          env: {
            PATH: '/usr/bin:/bin',
            HOME: dataFolder,
            TEMPORAL_ADDRESS: server.address,
            TEMPORAL_NAMESPACE: 'default',
          },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      );
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
      return { pid: child.pid, dataFolder, output: () => output, stop: () => end(child, 'SIGTERM') };
    },
    async close() {
      for (const child of children) await end(child, 'SIGTERM');
      await connection.close();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function end(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

/** CPU time of a process in seconds, without its children. */
export function cpuSeconds(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) / 100;
}

/** Peak of the resident memory of a process, in MB. */
export function peakMemory(pid) {
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);
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
