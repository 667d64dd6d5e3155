// How long `heddle logs` and `heddle doctor`'s count take where a node has many old logs, as an exec a minute leaves
// them: 129,600 in 90 days. Whole processes; their CPU time says more than the time on a busy machine.
// Usage: npm run bench -- logs [--logs 100000] [--days 90] [--runs 3]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { dayOf } from '../dist/store/store.js';
import { measureLogs } from '../dist/store/prune-logs.js';
import { emptyCluster, openStack } from './stack.mjs';

const { values } = parseArgs({
  options: {
    logs: { type: 'string', default: '100000' },
    days: { type: 'string', default: '90' },
    runs: { type: 'string', default: '3' },
  },
});
const count = Number(values.logs);
const heddle = fileURLToPath(new URL('../bin/heddle.mjs', import.meta.url));
const stack = await openStack();
const env = { PATH: '/usr/bin:/bin', HOME: stack.folder, TEMPORAL_ADDRESS: stack.server.address };
const dataFolder = join(stack.folder, 'data');
const config = join(stack.folder, 'heddle.yaml');
writeFileSync(config, stringify({ dataFolder, keys: { folder: join(stack.folder, 'keys') } }));
try {
  await stack.startEmptyWorker();
  const applied = await stack.client.apply(emptyCluster('web', 1));
  await stack.client.waitFor('web', applied.operation);
  const { uid, nodes } = await stack.client.status('web');
  const node = nodes[0].nodeId;
  writeLogs(uid, node);
  /** @type {(title: string, ...words: string[]) => Promise<void>} */
  const logs = (title, ...words) => report(`heddle logs ${title}`, () => run('logs', 'web', ...words));
  await logs('--tail 20', '--tail', '20');
  await logs('NODE --tail 20', node, '--tail', '20');
  await logs('--since 1h', '--since', '1h');
  await logs('--operation ID', '--operation', String(Math.floor(count / 2)));
  await logs('(all)');
  await report('number and size of all logs', () => measure(() => measureLogs(join(dataFolder, 'store'))));
} finally {
  await stack.close();
}
process.exit();

/**
 * The last one was written just now.
 * @param {string} uid
 * @param {string} node
 */
function writeLogs(uid, node) {
  const now = Date.now();
  const stepMs = (Number(values.days) * 24 * 3_600_000) / count;
  for (let operation = 1; operation <= count; operation += 1) {
    const ms = now - (count - operation) * stepMs;
    const t = new Date(ms).toISOString();
    const lines = [
      { t, level: 'info', message: 'attempt 1', attributes: { run: 1 } },
      { t, stream: 'stdout', text: `operation ${operation}\n` },
      { t, level: 'debug', message: 'attempt 1 ended' },
    ];
    const path = join(uid, dayOf(ms), node, `${operation}.1.-.EXEC.1.log`);
    const file = join(dataFolder, 'store', 'logs', path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { mode: 0o600 });
    utimesSync(file, ms / 1_000, ms / 1_000);
  }
}

/**
 * @param {string} title
 * @param {() => Promise<number>} work
 */
async function report(title, work) {
  const all = [];
  for (let run = 0; run < Number(values.runs); run += 1) {
    const began = performance.now();
    const cpu = await work();
    all.push({ seconds: (performance.now() - began) / 1_000, cpu });
  }
  const { seconds, cpu } = all.toSorted((a, b) => a.seconds - b.seconds)[Math.floor(all.length / 2)];
  console.log(`${title}: ${seconds.toFixed(2)} s, CPU ${cpu.toFixed(2)} s; load ${loadavg()[0].toFixed(1)}`);
}

/** @param {() => Promise<unknown>} work */
async function measure(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/**
 * @param {...string} words
 * @returns the CPU time of the process, in seconds, as its shell reports it
 */
async function run(...words) {
  const child = spawn(
    '/bin/sh',
    ['-c', '"$@" > /dev/null && times', 'sh', process.execPath, heddle, ...words, '--config', config],
    { env, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Error(`heddle ${words.join(' ')} ended with ${child.exitCode}`);
  const [, ofChildren = ''] = output.split('\n');
  return [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  );
}
