// Memory and boot time of many idle directory machines in one machine service.
// Usage: npm run build && node bench/local-1000.mjs [COUNT [MAIN]]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const count = Number(process.argv[2] ?? 1_000);
const main = fileURLToPath(new URL(process.argv[3] ?? '../dist/local/main.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
try {
  let service = await start();
  console.log(`empty service: ${memoryMb(service)} MB resident`);
  let began = performance.now();
  const numbers = Array.from({ length: count }, (_, index) => index);
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let index = numbers.pop(); index !== undefined; index = numbers.pop())
        await create(service, index);
    }),
  );
  console.log(`${count} machines accepted in ${seconds(began)} s`);
  await allRunning(service);
  console.log(`${count} machines running after ${seconds(began)} s`);
  await sleep(2_000);
  console.log(`idle: ${memoryMb(service)} MB resident`);
  began = performance.now();
  await end(service);
  console.log(`stopped in ${seconds(began)} s`);
  began = performance.now();
  service = await start();
  await allRunning(service);
  console.log(`started again, all running after ${seconds(began)} s, ${memoryMb(service)} MB resident`);
  await end(service);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @typedef {Awaited<ReturnType<typeof start>>} Service */

async function start() {
  const child = spawn(
    process.execPath,
    [main, '--data', folder, '--kind', 'directory', '--log-level', 'warn'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const first = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  const { endpoint, apiKeyFile } = JSON.parse(first.value);
  return { child, endpoint, headers: { authorization: `Bearer ${readFileSync(apiKeyFile, 'utf8').trim()}` } };
}

/**
 * @param {Service} service
 * @param {number} index
 */
async function create({ endpoint, headers }, index) {
  const body = {
    key: `bench/n-${index}/1`,
    token: `bench-token-${index}`,
    hostname: `n-${index}`,
    flavor: 'tiny',
    image: 'host',
    tags: { bench: 'yes' },
  };
  const response = await fetch(`${endpoint}/v1/machines`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  if (response.status !== 201) throw new Error(await response.text());
  await response.arrayBuffer();
}

/** @param {Service} service */
async function allRunning({ endpoint, headers }) {
  for (;;) {
    const response = await fetch(`${endpoint}/v1/machines?state=running&limit=1000`, { headers });
    const { machines, next } = /** @type {{ machines: unknown[], next?: string }} */ (await response.json());
    if (machines.length >= Math.min(count, 1_000) && (next !== undefined || count <= 1_000)) return;
    await sleep(50);
  }
}

/** @param {Service} service */
async function end({ child }) {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

/** @param {Service} service */
function memoryMb({ child }) {
  return Math.round(
    Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' })) / 1024,
  );
}

/** @param {number} began */
function seconds(began) {
  return ((performance.now() - began) / 1_000).toFixed(1);
}
