// Pools: how soon nodes are had, how many a second, what a kill costs, and what idle nodes cost. The cloud is
// simulated: active after 0.1 s.
// Usage: npm run build && node bench/pools.mjs [--json] [PART ...]    parts: single, burst, queue, kill,
// lost, evict, idle; burst:500, lost:500 and idle:100 for one size
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { openKeyRing } from '../dist/secrets/keys.js';
import { heddle } from '../dist/temporal-plugin.js';
import { PoolClient } from '../dist/client/pool/pool-client.js';
import { startCloud } from './simulated-plugins.mjs';
import { cpuSeconds, end, startOwnServer } from './stack.mjs';

/** @import { PoolSpec } from '../dist/schema/pool/spec.js' */

const json = process.argv.includes('--json');
const asked = process.argv.slice(2).filter((word) => word !== '--json');
const folder = mkdtempSync(join(tmpdir(), 'heddle-pools-'));
const server = await startOwnServer(folder);
const cloud = await startCloud(100);
const keys = join(folder, 'keys');
const keyRing = openKeyRing({ folder: keys, create: true });
const connection = await Connection.connect({ address: server.address });
const temporal = new Client({ connection, plugins: [heddle({ keys: keyRing })] });
let worker = await startWorker();
let pools = 0;
/** @type {Record<string, (size?: number) => Promise<void>>} */
const plays = { single, burst, queue, kill, lost, evict, idle };
/** @type {PoolClient[]} */
const opened = [];
try {
  for (const part of asked.length > 0 ? asked : Object.keys(plays)) {
    const [name, size] = part.split(':');
    const play = plays[name];
    if (play === undefined) throw new Error(`no part ${name}; parts: ${Object.keys(plays).join(', ')}`);
    await play(size === undefined ? undefined : Number(size));
    for (const pool of opened.splice(0)) {
      await pool.deletePool();
      await pool.gone();
    }
  }
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await end(worker, 'SIGTERM');
  cloud.stop();
  await connection.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
// After an error there may be waits left that nobody needs.
process.exit();

async function single() {
  const fresh = await open({});
  tellLatencies('one fresh node', 'fresh', await latencies(fresh, 30));
  const warm = await open({ minReady: 3 });
  await untilReady(warm, 3);
  tellLatencies('one ready node', 'ready', await latencies(warm, 30, () => untilReady(warm, 3)));
}

/**
 * @param {PoolClient} pool
 * @param {number} count
 * @param {() => Promise<unknown>} [before]
 */
async function latencies(pool, count, before = async () => {}) {
  const took = [];
  for (let each = 0; each < count; each += 1) {
    await before();
    const began = performance.now();
    const { id } = await pool.obtain(['a']);
    took.push(performance.now() - began);
    await pool.return(id);
  }
  return took.toSorted((one, other) => one - other);
}

/**
 * @param {string} name
 * @param {string} what
 * @param {readonly number[]} sorted
 */
function tellLatencies(name, what, sorted) {
  /** @param {number} share */
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] / 1_000;
  /** @param {number} share */
  const text = (share) => `${at(share).toFixed(3)} s`;
  say(`${name}: p50 ${text(0.5)}, p95 ${text(0.95)}, at most ${text(1)} (${sorted.length})`, {
    what,
    value: at(0.5),
  });
}

/** @param {number} [only] */
async function burst(only) {
  for (const count of only === undefined ? [100, 1_000, 2_000] : [only]) {
    const pool = await open({});
    const cpu = await cpuOf();
    const began = performance.now();
    const waits = await Promise.all(
      Array.from({ length: count }, async () => {
        const { id } = await pool.obtain(['a']);
        const at = performance.now() - began;
        await pool.return(id);
        return at;
      }),
    );
    const fulfilled = Math.max(...waits) / 1_000;
    await until(async () => cloud.machines.size === 0);
    const gone = (performance.now() - began) / 1_000;
    const { worker: ours, server: theirs } = diff(await cpuOf(), cpu);
    say(
      `${count} requests at once: the last fulfilled after ${fulfilled.toFixed(1)} s (${Math.round(count / fulfilled)}/s), the last machine gone after ${gone.toFixed(1)} s (${Math.round(count / gone)}/s), ` +
        `${(ours / count).toFixed(1)} ms CPU of the worker and ${(theirs / count).toFixed(1)} ms of the server for each; load ${loadavg()[0].toFixed(1)}`,
      { what: `burst ${count}`, value: count / fulfilled },
      { what: `gone ${count}`, value: count / gone },
      { what: `CPU ${count}`, value: (ours + theirs) / count },
    );
  }
}

async function queue() {
  const pool = await open({}, { limits: { nodes: 10 } });
  const began = performance.now();
  const times = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const { id } = await pool.obtain(['a']);
      const at = performance.now() - began;
      await pool.return(id);
      return at;
    }),
  );
  const sorted = times.toSorted((one, other) => one - other);
  const quarters = [0, 25, 50, 75].map(
    (from) => `${(25_000 / (sorted[from + 24] - (sorted[from - 1] ?? 0))).toFixed(1)}/s`,
  );
  say(
    `100 requests on a pool of 10: ${(100_000 / sorted[99]).toFixed(1)}/s; by quarters ${quarters.join(', ')}`,
    { what: 'queue', value: 100_000 / sorted[99] },
  );
}

async function kill() {
  const pool = await open({});
  const { created } = cloud.counts;
  const requests = await Promise.all(Array.from({ length: 50 }, () => pool.request(['a'])));
  await until(async () => cloud.counts.created - created >= 25);
  await end(worker, 'SIGKILL');
  const killed = performance.now();
  worker = await startWorker();
  const started = performance.now();
  const held = await Promise.all(requests.map(({ id }) => pool.waitFor(id)));
  const made = cloud.counts.created - created;
  const [sinceKill, sinceStart] = [killed, started].map((from) => (performance.now() - from) / 1_000);
  say(
    `kill -9 of the worker with 50 building: all ${held.length} fulfilled ${sinceKill.toFixed(1)} s after the kill, ` +
      `${sinceStart.toFixed(1)} s after the next worker was ready; machines made: ${made}, thrown away: ${made - 50}`,
    { what: 'killed', value: sinceKill },
    { what: 'thrown away', value: made - 50 },
  );
  await Promise.all(held.map(({ id }) => pool.return(id)));
}

async function lost(count = 2_000) {
  const pool = await open({});
  let fulfilled = 0;
  const all = Promise.all(
    Array.from({ length: count }, async () => {
      const { id } = await pool.obtain(['a']);
      fulfilled += 1;
      await pool.return(id);
    }),
  );
  await until(async () => fulfilled >= 0.75 * count);
  await end(worker, 'SIGKILL');
  worker = await startWorker();
  const [started, before] = [performance.now(), fulfilled];
  if (before === count) throw new Error(`all ${count} requests were fulfilled before the kill: ask for more`);
  await until(async () => fulfilled > before);
  const again = (performance.now() - started) / 1_000;
  await all;
  const done = (performance.now() - started) / 1_000;
  say(
    `kill -9 of the worker when ${before} of ${count} requests were fulfilled: the next one ${again.toFixed(1)} s after the next worker was ready, all after ${done.toFixed(1)} s; load ${loadavg()[0].toFixed(1)}`,
    { what: `goes on ${count}`, value: again },
    { what: `all ${count}`, value: done },
  );
}

async function evict() {
  const pool = await open({ minReady: 5 }, { limits: { nodes: 5 } });
  await untilReady(pool, 5);
  const { deleted } = cloud.counts;
  const got = await pool.obtain(['b']);
  const evicted = cloud.counts.deleted - deleted;
  say(`5 idle nodes fill the pool, one request for another label: ${evicted} deleted`, {
    what: 'evicted',
    value: evicted,
  });
  await pool.return(got.id);
}

async function idle(count = 1_000) {
  const pool = await open({ minReady: count });
  const began = performance.now();
  await untilReady(pool, count);
  const ready = (performance.now() - began) / 1_000;
  say(`${count} nodes made ready in ${ready.toFixed(1)} s`, { what: 'made ready', value: ready });
  await pause(10_000);
  const before = await cpuOf();
  await pause(30_000);
  const { worker: ours, server: theirs } = diff(await cpuOf(), before);
  say(
    `${count} ready nodes at rest: worker ${(ours / 300).toFixed(2)} % and server ${(theirs / 300).toFixed(2)} % of one core, over 30 s; load ${loadavg()[0].toFixed(1)}`,
    { what: 'at rest', value: (ours + theirs) / 300, worker: ours / 300, server: theirs / 300 },
  );
}

/**
 * @param {Partial<PoolSpec['labels'][string]>} label
 * @param {Partial<PoolSpec['providerPools'][string]>} [more]
 */
async function open(label, more = {}) {
  pools += 1;
  const name = `bench-${pools}`;
  const offer = { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } };
  const pool = new PoolClient(temporal, name, { by: 'bench' });
  await pool.apply({
    name,
    tenants: {},
    labels: Object.fromEntries(
      ['a', 'b'].map((key) => [
        key,
        { minReady: 0, spareAge: 600, onReturn: 'delete', ...(key === 'a' ? label : {}) },
      ]),
    ),
    providerPools: {
      main: {
        provider: 'cloud',
        priority: 100,
        limits: {},
        attributes: {},
        launchAttempts: 3,
        labels: { a: offer, b: offer },
        ...more,
      },
    },
  });
  opened.push(pool);
  return pool;
}

/**
 * @param {PoolClient} pool
 * @param {number} count
 */
function untilReady(pool, count) {
  return until(async () => ((await pool.view()).labels.a.nodes.ready ?? 0) >= count);
}

/** @param {() => Promise<boolean>} check */
async function until(check) {
  while (!(await check())) await pause(20);
}

async function startWorker() {
  const child = fork(
    fileURLToPath(new URL('simulated-worker.mjs', import.meta.url)),
    [server.address, keys, String(cloud.port)],
    { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
  );
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  while (!output.includes('worker is ready')) {
    if (child.exitCode !== null) throw new Error(`the worker ended: ${output}`);
    await pause(5);
  }
  return child;
}

/** @typedef {{ worker: number, server: number }} Cpu */

/** Ms of CPU that worker and server have used. */
async function cpuOf() {
  worker.send('cpu');
  const [{ user, system }] = await once(worker, 'message');
  const [pid] = server.pids;
  return { worker: (user + system) / 1_000, server: cpuSeconds(pid) * 1_000 };
}

/**
 * @param {Cpu} after
 * @param {Cpu} before
 */
function diff(after, before) {
  return { worker: after.worker - before.worker, server: after.server - before.server };
}

/**
 * A line for people, or the figures in it for programs.
 * @param {string} line
 * @param {...object} figures
 */
function say(line, ...figures) {
  if (!json) console.log(line);
  else for (const figure of figures) console.log(JSON.stringify({ ...figure, load: loadavg()[0] }));
}
