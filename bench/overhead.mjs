// A create whose tasks do nothing, beside a plain Temporal worker with as many empty activities in the same
// shape: what Heddle costs above Temporal.
// Usage: npm run bench -- overhead [--nodes 100] [--runs 3] [--profile FOLDER]
import { join } from 'node:path';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { emptyCluster, openStack, peakMemory } from './stack.mjs';

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
/** @type {(name: string) => string[]} */
const profile = (name) =>
  values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${join(values.profile, name)}`];
try {
  const heddle = await stack.startEmptyWorker(profile('heddle'));
  const bare = await stack.startBareWorker(profile('bare'));
  for (let run = 1; run <= Number(values.runs); run += 1) {
    const name = `empty-${run}`;
    const done = await stack.measure(heddle, async () => {
      const { operation } = await stack.client.apply(emptyCluster(name, nodes));
      const end = await stack.client.waitFor(name, operation, { everyMs: 250 });
      if (end.operation.state !== 'done') throw new Error(end.operation.reason);
      return end.operation.tasks.done;
    });
    report('Heddle', heddle, done);
    const length = Math.round(done.tasks / nodes);
    const other = await stack.measure(bare, async () => {
      await plain.workflow.execute('chains', { taskQueue: 'bare', workflowId: name, args: [nodes, length] });
      return nodes * length;
    });
    report('bare worker', bare, other);
    console.log(
      `  Heddle reaches ${(done.rate / other.rate).toFixed(2)} of the bare worker; load ${loadavg()[0].toFixed(1)}`,
    );
  }
} finally {
  await stack.close();
}
process.exit();

/**
 * @param {string} name
 * @param {{ pid: number }} worker
 * @param {Awaited<ReturnType<typeof stack.measure>>} measured
 */
function report(name, { pid }, { tasks, seconds, rate, workerMs, serverMs }) {
  console.log(
    `${name}: ${tasks} tasks in ${seconds.toFixed(2)} s, ${rate.toFixed(0)} per second; CPU of a task: ` +
      `worker ${workerMs.toFixed(1)} ms, server ${serverMs.toFixed(1)} ms; worker ${peakMemory(pid)} MB`,
  );
}
