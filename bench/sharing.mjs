// A small cluster beside a large one, whose tasks do nothing or wait, and two workers beside one with tasks that wait.
// Usage: npm run bench -- sharing [--nodes 1000] [--small 3] [--runs 5] [--large-seconds 0,10] [--waiting 600]
// [--seconds 4]
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { emptyCluster, openStack } from './stack.mjs';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '1000' },
    small: { type: 'string', default: '3' },
    runs: { type: 'string', default: '5' },
    'large-seconds': { type: 'string', default: '0,10' },
    waiting: { type: 'string', default: '600' },
    seconds: { type: 'string', default: '4' },
  },
});
const [nodes, small, runs] = [values.nodes, values.small, values.runs].map(Number);
const stack = await openStack();
let clusters = 0;
try {
  const worker = await stack.startEmptyWorker();
  await create(small);
  const alone = await createSeveral();
  console.log(`${small} nodes alone: ${text(alone)}`);
  for (const waitSeconds of values['large-seconds'].split(',').map(Number)) {
    const large = create(nodes, waitSeconds);
    await delay(3_000 + waitSeconds * 1_000);
    const beside = await createSeveral();
    console.log(
      `beside ${nodes} nodes whose actions wait for ${waitSeconds} s and which took ${(await large).toFixed(1)} s: ` +
        `${text(beside)}; ratio of the medians ${(median(beside) / median(alone)).toFixed(1)}; load ${loadavg()[0].toFixed(1)}`,
    );
  }
  const one = await create(Number(values.waiting), Number(values.seconds));
  const second = await stack.startEmptyWorker();
  const two = await create(Number(values.waiting), Number(values.seconds));
  console.log(
    `${values.waiting} nodes whose actions wait for ${values.seconds} s: one worker ${one.toFixed(1)} s, two workers ` +
      `${two.toFixed(1)} s; ratio ${(one / two).toFixed(1)}; load ${loadavg()[0].toFixed(1)}`,
  );
  await worker.stop();
  await second.stop();
} finally {
  await stack.close();
}
process.exit();

async function createSeveral() {
  const seconds = [];
  for (let run = 0; run < runs; run += 1) seconds.push(await create(small));
  return seconds;
}

async function create(count, waitSeconds) {
  const began = performance.now();
  await begin(count, waitSeconds);
  return (performance.now() - began) / 1_000;
}

async function begin(count, waitSeconds) {
  clusters += 1;
  const name = `c-${clusters}`;
  const { operation } = await stack.client.apply(emptyCluster(name, count, waitSeconds));
  const end = await stack.client.waitFor(name, operation, { everyMs: 20 });
  if (end.operation.state !== 'done') throw new Error(end.operation.reason);
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function text(seconds) {
  return `${median(seconds).toFixed(2)} s (${Math.min(...seconds).toFixed(2)} to ${Math.max(...seconds).toFixed(2)} s)`;
}
