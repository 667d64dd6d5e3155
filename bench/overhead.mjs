// A create whose tasks do nothing, beside a plain Temporal worker with as many empty activities in the same
// shape: what Heddle costs above Temporal.
// Usage: npm run bench -- overhead [--nodes 100] [--runs 3] [--profile FOLDER]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { cpuSeconds, openStack, peakMemory } from './stack.mjs';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '100' },
    runs: { type: 'string', default: '3' },
    profile: { type: 'string' },
  },
});
const nodes = Number(values.nodes);
const stack = await openStack();
const plain = new Client({ connection: await Connection.connect({ address: stack.server.address }) });
const children = [];
try {
  const service = (type) => ({
    peers: 'none',
    actions: Object.fromEntries(
      ['install', 'configure', 'start'].map((action) => [action, { type, fields: {} }]),
    ),
  });
  const heddle = await start('simulated-worker.mjs', stack.server.address, join(stack.folder, 'keys'));
  const bare = await start('bare-worker.mjs', stack.server.address);
  for (let run = 1; run <= Number(values.runs); run += 1) {
    const name = `empty-${run}`;
    const done = await measure(heddle, async () => {
      const { operation } = await stack.client.apply({
        name,
        nodes: {
          app: { count: nodes, provider: 'cloud', hardware: 'small', image: 'any', services: ['a', 'b'] },
        },
        services: { a: service('simulated'), b: service('simulated') },
      });
      const end = await stack.client.waitFor(name, operation, { everyMs: 250 });
      if (end.operation.state !== 'done') throw new Error(end.operation.reason);
      return end.operation.tasks.done;
    });
    report('Heddle', done);
    const length = Math.round(done.tasks / nodes);
    const other = await measure(bare, async () => {
      await plain.workflow.execute('chains', { taskQueue: 'bare', workflowId: name, args: [nodes, length] });
      return nodes * length;
    });
    report('bare worker', other);
    const ratio = done.tasks / done.seconds / (other.tasks / other.seconds);
    console.log(`  Heddle reaches ${ratio.toFixed(2)} of the bare worker; load ${loadavg()[0].toFixed(1)}`);
  }
} finally {
  for (const child of children) {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  }
  await stack.close();
}
process.exit();

async function start(file, ...words) {
  const profile =
    values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(values.profile, file)}`];
  const child = spawn(
    process.execPath,
    [...profile, fileURLToPath(new URL(file, import.meta.url)), ...words],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  children.push(child);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  while (!output.includes('worker is ready')) {
    if (child.exitCode !== null) throw new Error(`${file} ended`);
    await delay(5);
  }
  return child;
}

async function measure(worker, work) {
  const before = { worker: cpuSeconds(worker.pid), server: cpuSeconds(stack.server.pid) };
  const began = performance.now();
  const tasks = await work();
  const seconds = (performance.now() - began) / 1_000;
  return {
    tasks,
    seconds,
    worker: cpuSeconds(worker.pid) - before.worker,
    server: cpuSeconds(stack.server.pid) - before.server,
    memory: peakMemory(worker.pid),
  };
}

function report(name, { tasks, seconds, worker, server, memory }) {
  const each = (cpu) => `${((cpu * 1_000) / tasks).toFixed(1)} ms`;
  console.log(
    `${name}: ${tasks} tasks in ${seconds.toFixed(2)} s, ${(tasks / seconds).toFixed(0)} per second; ` +
      `CPU of a task: worker ${each(worker)}, server ${each(server)}; worker ${memory} MB`,
  );
}
