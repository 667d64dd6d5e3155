// How soon work continues after the only worker was killed, ended (SIGTERM) or frozen (SIGSTOP): from the new worker's
// first poll to each cluster's next finished task, and from the signal to the next attempt of each task in flight. Each
// cluster has two tasks in flight.
// Usage: npm run bench -- resume [KILLS [SIGKILL|SIGTERM|SIGSTOP [CLUSTERS [SECONDS]]]]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { openKeyRing } from '../dist/secrets/keys.js';
import { heddle } from '../dist/temporal-plugin.js';
import { HeddleClient } from '../dist/client/index.js';
import { dist, end, specOf, startOwnServer, untilWorker } from './stack.mjs';

const kills = Number(process.argv[2] ?? 20);
const signal = /** @type {NodeJS.Signals} */ (process.argv[3] ?? 'SIGKILL');
const clusters = Number(process.argv[4] ?? 4);
const scriptSeconds = process.argv[5] ?? '0.5';
const folder = mkdtempSync(join(tmpdir(), 'heddle-resume-'));
/** @type {import('node:child_process').ChildProcess[]} */
const children = [];
const server = await startOwnServer(folder);
try {
  await measure();
} finally {
  for (const child of children) await end(child, 'SIGTERM');
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function measure() {
  const machines = await startMachines();
  const keys = join(folder, 'keys');
  const connection = await Connection.connect({ address: server.address });
  const keyRing = openKeyRing({ folder: keys, create: true });
  const client = new HeddleClient(new Client({ connection, plugins: [heddle({ keys: keyRing })] }), {
    by: 'bench',
  });
  writeFileSync(
    join(folder, 'heddle.yaml'),
    JSON.stringify({
      dataFolder: join(folder, 'worker'),
      keys: { folder: keys },
      providers: {
        local: {
          type: 'local',
          fields: { endpoint: machines.endpoint, apiKey: { secret: `file:${machines.apiKeyFile}` } },
        },
      },
    }),
  );
  let worker = await startWorker();
  const names = Array.from({ length: clusters }, (_, index) => `resume-${index + 1}`);
  const working = { on: true };
  const work = Promise.all(names.map((name) => keepBusy(client, name, working)));
  // Told when it is awaited, after everything was ended.
  work.catch(() => undefined);
  while (
    (await Promise.all(names.map((name) => finishedTasks(client, name).catch(() => [])))).some(
      (times) => times.length < 10,
    )
  )
    await pause(500);
  /** @type {{ killedAt: number, goneAt: number, polledAt: number }[]} */
  const restarts = [];
  let finishedSince = [];
  for (let kill = 0; kill < kills; kill += 1) {
    await pause(500 + Math.random() * 2_000);
    const killedAt = Date.now();
    const previous = worker.child;
    if (signal === 'SIGSTOP') previous.kill(signal);
    else await end(previous, signal);
    const goneAt = Date.now();
    worker = await startWorker();
    restarts.push({ killedAt, goneAt, polledAt: worker.polledAt });
    // Until all have gone on: a kill that meets a cluster which still waits for the last one would count
    // twice.
    for (
      let behind = true;
      behind;
      behind = finishedSince.some((times) => !times.some((time) => time > worker.polledAt))
    ) {
      await pause(1_000);
      finishedSince = await Promise.all(names.map((name) => finishedTasks(client, name).catch(() => [])));
    }
    // A frozen worker would take part again.
    await end(previous, 'SIGKILL');
  }
  working.on = false;
  await work;
  const finished = await Promise.all(names.map((name) => finishedTasks(client, name)));
  const again = (await Promise.all(names.map((name) => secondAttempts(client, name)))).flat();
  const continued = restarts.flatMap(({ killedAt }, index) =>
    again
      .filter((time) => time > killedAt && time < (restarts[index + 1]?.killedAt ?? Infinity))
      .map((time) => time - killedAt),
  );
  const waits = restarts.flatMap(({ polledAt }) =>
    finished.flatMap((times) => times.find((time) => time > polledAt) ?? []).map((time) => time - polledAt),
  );
  say(
    `${kills} times ${signal} to the only worker of ${clusters} clusters that run scripts of ${scriptSeconds} s without a pause`,
  );
  say(
    `signal to the end of the process: ${percentiles(restarts.map(({ killedAt, goneAt }) => goneAt - killedAt))}`,
  );
  say(
    `start of the next worker to its first poll: ${percentiles(restarts.map(({ goneAt, polledAt }) => polledAt - goneAt))}`,
  );
  say(`first poll to the next finished task of each cluster: ${percentiles(waits)}`);
  say(`signal to the next attempt of each task in flight: ${percentiles(continued)}`);
  const states = await Promise.all(
    names.map(async (name) => (await client.status(name)).history.map(({ state }) => state)),
  );
  say(
    `operations: ${states.flat().length}, of which not done: ${states.flat().filter((state) => state !== 'done').length}`,
  );
  await connection.close();
}

/**
 * One operation after the other, each of a script on each of two nodes.
 * @param {HeddleClient} client
 * @param {string} name
 * @param {{ on: boolean }} working
 */
async function keepBusy(client, name, working) {
  const script = { type: 'shell', fields: { script: `sleep ${scriptSeconds}` } };
  const spec = specOf({
    name,
    nodes: { app: { count: 2, provider: 'local', hardware: 'small', image: 'host', services: ['app'] } },
    services: { app: { peers: 'none', actions: { start: script, stop: script, configure: script } } },
  });
  await client.waitFor(name, (await untilWorker(() => client.apply(spec))).operation);
  while (working.on) {
    const asked = await client
      .operate(name, { kind: 'reconfigure', services: ['app'], restart: true }, { queue: true })
      .catch(() => undefined);
    if (asked !== undefined) await client.waitFor(name, asked.operation, { everyMs: 200 });
  }
}

/**
 * When tasks of a cluster ended well, in ms, by the server's clock, which is ours.
 * @param {HeddleClient} client
 * @param {string} name
 */
async function finishedTasks(client, name) {
  const events = await eventsOf(client, name);
  return events.filter((event) => event.activityTaskCompletedEventAttributes).map(timeOf);
}

/**
 * When the last attempts of tasks began that had more than one.
 * @param {HeddleClient} client
 * @param {string} name
 */
async function secondAttempts(client, name) {
  const events = await eventsOf(client, name);
  return events.filter((event) => (event.activityTaskStartedEventAttributes?.attempt ?? 0) > 1).map(timeOf);
}

/**
 * @param {HeddleClient} client
 * @param {string} name
 */
async function eventsOf(client, name) {
  const events = [];
  for await (const { runId } of client.temporal.workflow.list({ query: `WorkflowId = 'cluster/${name}'` })) {
    const history = await client.temporal.workflow.getHandle(`cluster/${name}`, runId).fetchHistory();
    events.push(...(history.events ?? []));
  }
  return events.toSorted((one, other) => timeOf(one) - timeOf(other));
}

/** @param {import('@temporalio/proto').temporal.api.history.v1.IHistoryEvent} event */
function timeOf({ eventTime }) {
  return Number(eventTime?.seconds ?? 0) * 1_000 + (eventTime?.nanos ?? 0) / 1e6;
}

async function startMachines() {
  const words = [
    join(dist, 'local/main.js'),
    '--data',
    join(folder, 'machines'),
    '--kind',
    'directory',
    '--boot-delay',
    '50',
    '--delete-delay',
    '20',
  ];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  const about = JSON.parse(line);
  readFileSync(about.apiKeyFile);
  return about;
}

async function startWorker() {
  const child = spawn(
    process.execPath,
    [join(dist, 'worker/main.js'), '--config', join(folder, 'heddle.yaml')],
    {
      env: { PATH: '/usr/bin:/bin', HOME: folder, TEMPORAL_ADDRESS: server.address },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  children.push(child);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  while (!output.includes('worker is ready')) {
    if (child.exitCode !== null) throw new Error(`the worker ended: ${output}`);
    await pause(5);
  }
  return { child, polledAt: Date.now() };
}

/** @param {readonly number[]} values */
function percentiles(values) {
  const sorted = values.toSorted((one, other) => one - other);
  /** @param {number} share */
  const at = (share) =>
    `${((sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN) / 1_000).toFixed(2)} s`;
  return `median ${at(0.5)}, p95 ${at(0.95)}, at most ${at(1)} (${sorted.length})`;
}

/** @param {string} line */
function say(line) {
  console.log(line);
}
