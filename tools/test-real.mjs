// @ts-check
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { argv, env } from 'node:process';
import { parseArgs } from 'node:util';
import { describeComponents, missingComponents } from './components.mjs';
import { messageOf, root, say } from './environment.mjs';
import { prepare } from './prepare.mjs';
import { runTestsWithSecondLook, sayFailed } from './run-tests.mjs';

/**
 * The tests that take long or need more of the system than Node: each is a program that says itself what it
 * found. `counts` reads its own counts from its output; without, the program as a whole is one test.
 */
const suites = [
  { title: 'the demo, with packages installed in its sandboxes', words: ['tools/demo.mjs'] },
  {
    title: 'the container stack as processes, on PostgreSQL',
    words: ['test/deploy/run-stack.mjs'],
    counts: /^stack: (\d+) passed, (\d+) failed$/m,
  },
];

/**
 * Apart from the others, two at a time: what is killed has to start again and again, and an emulated
 * processor takes a whole one; either would starve all that runs beside it.
 */
const heavy = {
  title: '16 kills of workers and of Temporal servers, and machines that boot on emulated processors',
  env: { HEDDLE_KILLS: '12', HEDDLE_BOOTS: '1' },
  words: [
    '--maxWorkers=2',
    'test/chaos/chaos',
    'test/plugins/providers/libvirt/boots',
    'test/plugins/bare-metal/imaging',
  ],
};

/** `--part 1/2`: the first half of the files. The heavy ones belong to the last part, the programs to every one. */
const { part } = parseArgs({ args: argv.slice(2), options: { part: { type: 'string' } } }).values;
const shard = part === undefined ? [] : [`--shard=${part}`];
const [number, parts] = part?.split('/') ?? [];
const isLast = number === parts;

let passed = 0;
let failed = 0;
let skipped = 0;
/** @type {string[]} */
const table = [];
try {
  await prepare();
  // A second look at a failed file must play the same faults.
  env['HEDDLE_FAULTS'] ??= String(randomInt(1_000_000));
  say('long tests, and those that need root, OpenSSH or Java');
  if (part !== undefined) say(`part ${part} of the files`);
  const tests = await runTestsWithSecondLook(['--project', 'real', ...shard]);
  add('long tests, and those that need root, OpenSSH or Java', tests.passed, tests.failed);
  skipped += tests.skipped;
  if (isLast) await runHeavy();
  for (const suite of suites) await runSuite(suite);
} catch (error) {
  say(messageOf(error));
  failed += 1;
}
// Their tests were skipped: in CI that is a failure.
const missing = env['HEDDLE_REQUIRE_COMPONENTS'] === undefined ? [] : missingComponents();
for (const name of missing) add(`component ${name}, which npm run setup:extras installs, is absent`, 0, 1);
process.stdout.write(
  `\nReal components:\n${describeComponents().join('\n')}\n\n${table.join('\n')}\n${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}\n`,
);
process.exitCode = failed === 0 ? 0 : 1;

async function runHeavy() {
  const { title, env: more, words } = heavy;
  say(title);
  Object.assign(env, more);
  const found = await runTestsWithSecondLook(['--project', 'real', ...words]);
  for (const name of Object.keys(more)) delete env[name];
  add(title, found.passed, found.failed);
  skipped += found.skipped;
}

/** @param {{ title: string, words: readonly string[], counts?: RegExp }} suite */
async function runSuite({ title, words: [program = '', ...words], counts }) {
  say(title);
  const child = spawn(process.execPath, [join(root, program), ...words], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    output += chunk;
    process.stdout.write(chunk);
  });
  const [code] = await once(child, 'close');
  const [, yes, no] = (counts === undefined ? null : counts.exec(output)) ?? [];
  const bad = Math.max(Number(no ?? 0), code === 0 ? 0 : 1);
  const good = yes === undefined ? 1 - Math.min(bad, 1) : Number(yes);
  add(title, good, bad);
}

/** @param {string} title @param {number} good @param {number} bad */
function add(title, good, bad) {
  passed += good;
  failed += bad;
  if (bad > 0) sayFailed(`${title}: ${bad}`);
  table.push(`${bad === 0 ? 'ok    ' : 'failed'}  ${title}: ${good} passed, ${bad} failed`);
}
