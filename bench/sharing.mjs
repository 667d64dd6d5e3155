// Two workers beside one, and a small cluster beside a large one; tasks do nothing, or wait on the node.
// Usage: npm run bench -- sharing [--nodes 1000] [--small 3] [--runs 5]
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { emptyCluster, openStack } from './stack.mjs';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '1000' },
    small: { type: 'string', default: '3' },
    runs: { type: 'string', default: '5' },
  },
});
const [nodes, small, runs] = [values.nodes, values.small, values.runs].map(Number);
const stack = await openStack();
let clusters = 0;
try {
  const worker = await stack.startEmptyWorker();
  await create(small);
  const alone = await createSeveral();
  const large = begin(nodes);
  await delay(3_000);
  const beside = await createSeveral();
  const isLargeDone = await Promise.race([large.then(() => true), false]);
  await large;
  console.log(
    `${small} nodes alone: ${text(alone)}; beside ${nodes} nodes${isLargeDone ? ' (which ended first)' : ''}: ` +
      `${text(beside)}; ratio of the medians ${(median(beside) / median(alone)).toFixed(1)}; load ${loadavg()[0].toFixed(1)}`,
  );
  await worker.stop();
} finally {
  await stack.close();
}
process.exit();

async function createSeveral() {
  const seconds = [];
  for (let run = 0; run < runs; run += 1) seconds.push(await create(small));
  return seconds;
}

async function create(count) {
  const began = performance.now();
  await begin(count);
  return (performance.now() - began) / 1_000;
}

async function begin(count) {
  clusters += 1;
  const name = `c-${clusters}`;
  const { operation } = await stack.client.apply(emptyCluster(name, count));
  const end = await stack.client.waitFor(name, operation, { everyMs: 20 });
  if (end.operation.state !== 'done') throw new Error(end.operation.reason);
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function text(seconds) {
  return `${median(seconds).toFixed(2)} s (${Math.min(...seconds).toFixed(2)} to ${Math.max(...seconds).toFixed(2)} s)`;
}
