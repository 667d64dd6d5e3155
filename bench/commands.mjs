// What short commands cost: CPU and elapsed time of whole processes, beside Node alone and a tool in Go.
// Usage: npm run bench -- commands [--runs 10]
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { getTemporal } from '../tools/get-temporal.mjs';
import { openStack } from './stack.mjs';

const { values } = parseArgs({ options: { runs: { type: 'string', default: '10' } } });
const heddle = fileURLToPath(new URL('../bin/heddle.mjs', import.meta.url));
const temporal = await getTemporal();
const stack = await openStack();
const config = join(stack.folder, 'heddle.yaml');
writeFileSync(
  config,
  stringify({ dataFolder: join(stack.folder, 'data'), keys: { folder: join(stack.folder, 'keys') } }),
);
const node = process.execPath;
const commands = {
  'node -e 0': [node, '-e', '0'],
  'temporal --version (Go)': [temporal, '--version'],
  'heddle --version': [node, heddle, '--version'],
  'heddle --help': [node, heddle, '--help'],
  'heddle apply --help': [node, heddle, 'apply', '--help'],
  'heddle list': [node, heddle, 'list', '--config', config],
};
/** @type {Record<string, { cpu: number, elapsed: number }[]>} */
const found = Object.fromEntries(Object.keys(commands).map((name) => [name, []]));
try {
  // In turn, so that each meets the same noise.
  for (let count = 0; count < Number(values.runs); count += 1)
    for (const [name, words] of Object.entries(commands)) found[name]?.push(measure(words));
} finally {
  await stack.close();
}
console.log(`least and median of ${values.runs} runs, in s; load ${loadavg()[0]?.toFixed(1)}`);
for (const [name, runs] of Object.entries(found)) {
  const [cpu, elapsed] = [runs.map((run) => run.cpu), runs.map((run) => run.elapsed)].map(describe);
  console.log(`${name.padEnd(24)}  CPU ${cpu}   elapsed ${elapsed}`);
}
process.exit();

/** @param {readonly number[]} numbers */
function describe(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return [sorted[0], sorted[Math.floor(sorted.length / 2)]].map((value) => value?.toFixed(2)).join(' ');
}

/** CPU and elapsed time of a process and its children. @param {readonly string[]} words */
function measure(words) {
  const { status, stderr } = spawnSync(
    'bash',
    ['-c', 'TIMEFORMAT=\'%U %S %R\'; time "$@" > /dev/null', 'bash', ...words],
    {
      env: { PATH: '/usr/bin:/bin', HOME: stack.folder, TEMPORAL_ADDRESS: stack.server.address },
      encoding: 'utf8',
    },
  );
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}: ${stderr}`);
  const [user = NaN, system = NaN, elapsed = NaN] = (stderr.trim().split('\n').at(-1) ?? '')
    .split(' ')
    .map(Number);
  return { cpu: user + system, elapsed };
}
