// What people wait for: the start of the CLI and of a worker, the plan of a large cluster, and an apply that
// changes nothing. Whole processes, against a worker whose tasks do nothing.
// Usage: npm run bench -- latency [--nodes 1000] [--plan 10000] [--runs 5]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { emptyCluster, openStack, untilWorker } from './stack.mjs';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '1000' },
    plan: { type: 'string', default: '10000' },
    runs: { type: 'string', default: '5' },
  },
});
const heddle = fileURLToPath(new URL('../bin/heddle.mjs', import.meta.url));
const stack = await openStack();
const env = { PATH: '/usr/bin:/bin', HOME: stack.folder, TEMPORAL_ADDRESS: stack.server.address };
const config = join(stack.folder, 'heddle.yaml');
writeFileSync(
  config,
  stringify({ dataFolder: join(stack.folder, 'data'), keys: { folder: join(stack.folder, 'keys') } }),
);
try {
  await report('node -e 0', () => run(['-e', '0']));
  await report('heddle --version', () => run([heddle, '--version']));
  let clusters = 0;
  await report('start of a worker until its first task has ended', async () => {
    clusters += 1;
    const name = `first-${clusters}`;
    const applied = untilWorker(() => stack.client.apply(emptyCluster(name, 1)));
    const worker = await stack.startEmptyWorker();
    await stack.client.waitFor(name, (await applied).operation, { everyMs: 10 });
    await worker.stop();
  });
  await stack.startEmptyWorker();
  const large = fileOf('large', Number(values.plan));
  await report(`heddle plan, a new cluster of ${values.plan} nodes`, () =>
    run([heddle, 'plan', large, '--config', config], 2),
  );
  const name = 'unchanged';
  const file = fileOf(name, Number(values.nodes));
  await run([heddle, 'apply', file, '--config', config]);
  await report(`heddle apply, ${values.nodes} nodes without a change`, () =>
    run([heddle, 'apply', file, '--config', config]),
  );
} finally {
  await stack.close();
}
process.exit();

/**
 * @param {string} title
 * @param {() => Promise<unknown>} work
 */
async function report(title, work) {
  /** @type {number[]} */
  const seconds = [];
  for (let count = 0; count < Number(values.runs); count += 1) {
    const began = performance.now();
    await work();
    seconds.push((performance.now() - began) / 1_000);
  }
  const [least, median, most] = [0, Math.floor(seconds.length / 2), seconds.length - 1].map((index) =>
    seconds.toSorted((a, b) => a - b)[index].toFixed(2),
  );
  console.log(`${title}: ${median} s (${least} to ${most} s); load ${loadavg()[0].toFixed(1)}`);
}

/**
 * @param {string} name
 * @param {number} nodes
 */
function fileOf(name, nodes) {
  const file = join(stack.folder, `${name}.yaml`);
  writeFileSync(file, stringify(emptyCluster(name, nodes)));
  return file;
}

/** Runs a program to its end, which must be 0 or the code given. @param {string[]} words */
async function run(words, code = 0) {
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-2_000);
    });
  await once(child, 'close');
  if (child.exitCode !== 0 && child.exitCode !== code)
    throw new Error(`${words.join(' ')} ended with ${child.exitCode}: ${output}`);
  return output;
}
