// Small clusters beside a large one, whose tasks do nothing or wait, from its start to its end; and two workers beside
// one, with tasks that wait.
// Usage: npm run bench -- sharing [--nodes 1000] [--small 3] [--runs 11] [--every 3] [--large-seconds 0,10]
// [--waiting 600] [--seconds 4]
import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { emptyCluster, openStack } from './stack.mjs';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '1000' },
    small: { type: 'string', default: '3' },
    runs: { type: 'string', default: '11' },
    every: { type: 'string', default: '3' },
    'large-seconds': { type: 'string', default: '0,10' },
    waiting: { type: 'string', default: '600' },
    seconds: { type: 'string', default: '4' },
  },
});
const [nodes, small, runs, every] = [values.nodes, values.small, values.runs, values.every].map(Number);
const stack = await openStack();
let clusters = 0;
try {
  const worker = await stack.startEmptyWorker();
  await create(small);
  const alone = [];
  while (alone.length < runs) alone.push(await create(small));
  console.log(`${small} nodes alone: ${text(alone)}`);
  for (const waitSeconds of values['large-seconds'].split(',').map(Number)) {
    const { seconds, beside } = await createBesideLarge(waitSeconds);
    console.log(
      `beside ${nodes} nodes whose actions wait for ${waitSeconds} s and which took ${seconds.toFixed(1)} s: ` +
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

/** @param {number} waitSeconds */
async function createBesideLarge(waitSeconds) {
  let isDone = false;
  const large = create(nodes, waitSeconds).finally(() => {
    isDone = true;
  });
  const beside = [];
  while (!isDone) {
    const next = delay(every * 1_000);
    beside.push(await create(small));
    await next;
  }
  return { seconds: await large, beside };
}

/**
 * Seconds that the operation takes, with a look every 20 ms at a small cluster.
 * @param {number} count
 * @param {number} [waitSeconds]
 */
async function create(count, waitSeconds) {
  const began = performance.now();
  clusters += 1;
  const name = `c-${clusters}`;
  const { operation } = await stack.client.apply(emptyCluster(name, count, waitSeconds));
  const end = await stack.client.waitFor(name, operation, count === small ? { everyMs: 20 } : {});
  if (end.operation.state !== 'done') throw new Error(end.operation.reason);
  return (performance.now() - began) / 1_000;
}

/** @param {readonly number[]} numbers */
function median(numbers) {
  return quantile(numbers, 0.5);
}

/**
 * @param {readonly number[]} numbers
 * @param {number} share
 */
function quantile(numbers, share) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length * share)];
}

/** @param {readonly number[]} seconds */
function text(seconds) {
  const [low, middle, high] = [0, 0.5, 0.9].map((share) => quantile(seconds, share).toFixed(2));
  return `${seconds.length} times, median ${middle} s, from ${low} s, p90 ${high} s`;
}
