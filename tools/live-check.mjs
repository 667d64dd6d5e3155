// @ts-check
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isMain, messageOf, root, runMain, say } from './environment.mjs';

/**
 * Tries a real provider account before a release: one cluster through all operations, with Heddle as users
 * have it. Whatever ends the run, also Ctrl-C, the machines are deleted, and what the account still has with
 * the tag of this run is listed. The report is Markdown.
 */
const help = `usage: node tools/live-check.mjs --config heddle.yaml --account NAME [options]
  --hardware NAME   of the account (default: its first)
  --image NAME      of the account (default: its first)
  --count N         number of nodes (default: 2)
  --fields JSON     fields of the group, as a cluster file has them
  --power MODE      read: read the power of a node; switch: switch it off and on
  --report FILE     (default: live-check-NAME.md)`;

/** @typedef {{ name: string, ok: boolean, seconds: number, detail: string }} Result */

const cluster = 'live-check';
const readyMs = 60_000;
const longestStepMs = 30 * 60_000;
/** Longest time of a command that only reads. */
const longestLookMs = 5 * 60_000;
/** Longest time of a command to end after it was asked to. */
const longestEndMs = 60_000;

/** @param {readonly string[]} words @returns {Promise<number>} the exit code */
export async function liveCheck(words) {
  const { values: options } = parseArgs({
    args: [...words],
    options: {
      config: { type: 'string' },
      account: { type: 'string' },
      hardware: { type: 'string' },
      image: { type: 'string' },
      count: { type: 'string', default: '2' },
      fields: { type: 'string', default: '{}' },
      power: { type: 'string' },
      report: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  const { config, account } = options;
  if (options.help || config === undefined || account === undefined) {
    process.stdout.write(`${help}\n`);
    return options.help ? 0 : 2;
  }
  const spec = await clusterFile(resolve(config), { ...options, account });
  const folder = join(root, '.heddle', `live-check-${process.pid}`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const interrupted = new AbortController();
  const interrupt = () => interrupted.abort();
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  const heddle = heddleIn(folder, resolve(config));
  /** @type {Result[]} */
  const results = [];
  let left = 'unknown: Heddle did not start';
  try {
    await writeFile(join(folder, 'cluster.yaml'), spec);
    const stop = await startDev(heddle, interrupted.signal);
    try {
      await runSteps(heddle, stepsOf(account, options.power), results, interrupted.signal);
      left = await cleanUp(heddle, account, results);
    } finally {
      await stop();
    }
  } finally {
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
    const report = options.report ?? `live-check-${account}.md`;
    await writeFile(report, await describe(account, options.count, results, left));
    say(`the report is ${report}`);
    if (left === '') await rm(folder, { recursive: true, force: true });
    else
      say(
        `left in the account: ${left}. HEDDLE_DATA_FOLDER=${folder} HEDDLE_CONFIG=${config} npx heddle dev continues`,
      );
  }
  if (interrupted.signal.aborted) return 130;
  return left === '' && results.every(({ ok }) => ok) ? 0 : 1;
}

/**
 * Runs the command line with a data folder of its own. Its processes have a group of their own: a terminal's
 * Ctrl-C reaches this program alone.
 * @param {string} folder
 * @param {string} config
 */
function heddleIn(folder, config) {
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, HEDDLE_DATA_FOLDER: folder, HEDDLE_CONFIG: config };
  for (const name of Object.keys(env))
    if (name.startsWith('TEMPORAL_') && name !== 'TEMPORAL_CLI') delete env[name];
  const start = (/** @type {readonly string[]} */ ...words) => {
    const child = spawn(process.execPath, [join(root, 'bin', 'heddle.mjs'), ...words], {
      cwd: folder,
      env,
      // The channel closes if this program is killed, and `heddle dev` ends with it.
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached: true,
    });
    const output = { out: '', err: '' };
    child.stdout?.setEncoding('utf8').on('data', (text) => (output.out += text));
    child.stderr?.setEncoding('utf8').on('data', (text) => (output.err += text));
    const ended = once(child, 'close').then(([code]) => code);
    const end = async () => {
      child.kill('SIGINT');
      const killing = setTimeout(() => child.kill('SIGKILL'), longestEndMs);
      await ended;
      clearTimeout(killing);
    };
    return { child, output, ended, end };
  };
  /** @param {readonly string[]} words @param {AbortSignal} signal ends it */
  const run = async (words, signal) => {
    const { output, ended, end } = start(...words);
    signal.addEventListener('abort', end);
    if (signal.aborted) void end();
    const code = await ended;
    signal.removeEventListener('abort', end);
    if (code !== 0)
      throw new Error(`heddle ${words[0]} ended with ${code}: ${output.err.trim() || output.out.trim()}`);
    return output.out;
  };
  return { start, run };
}

/** @typedef {ReturnType<typeof heddleIn>} Heddle */

/**
 * @param {string} config
 * @param {{ account: string, hardware?: string | undefined, image?: string | undefined, count: string,
 * fields: string }} options
 */
async function clusterFile(config, { account, hardware, image, count, fields }) {
  const { parse } = await import('yaml');
  const { providers = {} } = parse(await readFile(config, 'utf8')) ?? {};
  const own = providers[account];
  if (own === undefined) throw new Error(`${config} has no account ${account}`);
  const group = {
    count: Number(count),
    provider: account,
    hardware: hardware ?? Object.keys(own.hardware ?? {})[0],
    image: image ?? Object.keys(own.images ?? {})[0],
    fields: JSON.parse(fields),
    services: ['probe'],
  };
  const install = { type: 'shell', fields: { script: 'echo "$HEDDLE_NODE" >live-check' } };
  return JSON.stringify({
    name: cluster,
    nodes: { app: group },
    services: { probe: { actions: { install } } },
  });
}

/** @param {Heddle} heddle @param {AbortSignal} interrupted @returns {Promise<() => Promise<void>>} stops it */
async function startDev({ start }, interrupted) {
  const { child, output, end } = start('dev', '--port', '0', '--ui-port', '0', '--json');
  for (const over = Date.now() + readyMs; !output.out.includes('\n'); await pause(100)) {
    const isRunning = child.exitCode === null && child.signalCode === null;
    if (isRunning && !interrupted.aborted && Date.now() <= over) continue;
    await end();
    throw new Error(`heddle dev did not start: ${interrupted.aborted ? 'interrupted' : output.err}`);
  }
  return end;
}

/**
 * @param {string} account
 * @param {string} [power]
 * @returns {readonly (readonly [string, readonly string[]])[]}
 */
function stepsOf(account, power) {
  const verbs = power === 'switch' ? ['off', 'on'] : power === 'read' ? ['status'] : [];
  return [
    ['the account answers', ['provider', 'test', account]],
    ['a cluster is created', ['apply', 'cluster.yaml', '--yes']],
    ['its nodes run the script', ['exec', cluster, '--', 'test -s live-check']],
    ['a second apply changes nothing', ['apply', 'cluster.yaml', '--yes']],
    ...verbs.map(
      (verb) => /** @type {const} */ ([`power ${verb}`, ['machine', 'power', `${cluster}/app-1`, verb]]),
    ),
    ['a node is replaced', ['replace', cluster, 'app-1', '--yes']],
    ['the cluster is deleted', ['delete', cluster, '--yes']],
  ];
}

/**
 * @param {Heddle} heddle
 * @param {readonly (readonly [string, readonly string[]])[]} steps
 * @param {Result[]} results
 * @param {AbortSignal} signal
 */
async function runSteps({ run }, steps, results, signal) {
  for (const [name, words] of steps) {
    if (signal.aborted) return;
    say(name);
    const began = Date.now();
    const limit = AbortSignal.any([signal, AbortSignal.timeout(longestStepMs)]);
    const fault = await run(words, limit).then(() => '', messageOf);
    results.push({ name, ok: fault === '', seconds: (Date.now() - began) / 1000, detail: fault });
    if (fault !== '') return say(fault);
  }
}

/**
 * Deletes what a step that failed or was interrupted left. Gives what the account still has with the tag of
 * this run.
 * @param {Heddle} heddle
 * @param {string} account
 * @param {Result[]} results
 */
async function cleanUp({ run }, account, results) {
  const listed = await run(['list', '--json'], AbortSignal.timeout(longestLookMs)).catch(() => cluster);
  if (listed.includes(cluster)) {
    say('deletes the cluster');
    // A delete takes the place of what was interrupted.
    const limit = AbortSignal.timeout(longestStepMs);
    const fault = await run(['delete', cluster, '--yes'], limit).then(() => '', messageOf);
    results.push({ name: 'clean-up', ok: fault === '', seconds: 0, detail: fault });
  }
  try {
    const limit = AbortSignal.timeout(longestLookMs);
    const { report } = JSON.parse(await run(['leaks', '--sweep', '--json'], limit));
    const own = report.accounts.find((/** @type {{ name: string }} */ { name }) => name === account);
    if (own === undefined) return 'unknown: the sweep did not check the account';
    if (own.unable !== undefined) return `unknown: ${own.unable}`;
    if (own.machines === 0) return '';
    const leaks = report.leaks.flatMap((/** @type {{ account: string, providerid: string }} */ leak) =>
      leak.account === account ? [leak.providerid] : [],
    );
    return `${own.machines} machines; orphaned: ${leaks.join(', ') || 'none'}`;
  } catch (error) {
    return `unknown: ${messageOf(error)}`;
  }
}

/**
 * @param {string} account
 * @param {string} count of nodes
 * @param {readonly Result[]} results
 * @param {string} left
 */
async function describe(account, count, results, left) {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const lines = results.map(
    ({ name, ok, seconds, detail }) =>
      `| ${name} | ${ok ? 'passed' : 'failed'} | ${seconds.toFixed(1)} | ${detail.replaceAll('\n', ' ').replaceAll('|', '\\|')} |`,
  );
  return `# Live check of ${account}

Heddle ${version}, ${new Date().toISOString()}, Node ${process.version}, ${count} nodes

| step | result | seconds | detail |
| --- | --- | --- | --- |
${lines.join('\n')}

Left in the account: ${left || 'nothing'}
`;
}

if (isMain(import.meta.url))
  await runMain(async () => {
    const { prepare } = await import('./prepare.mjs');
    await prepare();
    const { getTemporal } = await import('./get-temporal.mjs');
    process.env['TEMPORAL_CLI'] ??= await getTemporal();
    process.exitCode = await liveCheck(process.argv.slice(2));
  });
