import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { HeddleClient } from '../client/heddle-client.js';
import type { ClusterSpec } from '../model/cluster/spec.js';
import type { ClusterStatus } from '../schema/output/status.js';
import { loadSpecFile } from '../schema/cluster/read.js';
import { formatProblem } from '../schema/problem.js';
import { openKeyRing } from '../secrets/keys.js';
import { openConnection } from '../server/connect.js';
import { heddle } from '../temporal-plugin.js';
import { countMachines, countRuns, scriptsIn } from './count.js';
import { startDev, type DevProcess } from './dev-process.js';
import { styleText } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dataFolder = join(root, '.heddle', 'demo');
const example = join(root, 'examples', 'web.yaml');

/**
 * Creates a cluster, changes it, kills its worker on the way, and counts actions. @returns 0 if every count
 * is right.
 */
export async function main(): Promise<number> {
  narrate('Heddle: a durably provisioned cluster');
  const interrupted = new AbortController();
  // Handled from the start, and also while stopping, so that everything started is ended.
  const interrupt = (): void => interrupted.abort();
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  let dev: DevProcess | undefined;
  try {
    dev = await startParts(interrupted.signal);
    const right = await Promise.race([runDemo(dev, interrupted.signal), untilAborted(interrupted.signal)]);
    return right ? 0 : 1;
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    narrate('Interrupted: stops everything it started.');
    return 130;
  } finally {
    await dev?.stop();
    if (dev !== undefined) {
      await rm(dataFolder, { recursive: true, force: true });
      say('server, worker, machine service and data folder of the demo are gone');
    }
  }
}

async function startParts(signal: AbortSignal): Promise<DevProcess> {
  if (existsSync(dataFolder)) await removeLeftovers(signal);
  say('starts "heddle dev": Temporal server, machine service, worker');
  const dev = await startDev(dataFolder, signal);
  say(`Temporal at ${dev.record.address}, Web UI at ${dev.record.ui}`);
  return dev;
}

/**
 * Leftovers of a killed demo would be counted, too. Only a "heddle dev" of the same folder
 * knows its processes.
 */
async function removeLeftovers(signal: AbortSignal): Promise<void> {
  say('stops and removes what a killed demo left');
  const dev = await startDev(dataFolder, signal);
  await dev.stop();
  await rm(dataFolder, { recursive: true, force: true });
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('interrupted')), { once: true });
  });
}

async function runDemo(dev: DevProcess, signal: AbortSignal): Promise<boolean> {
  const { address, namespace } = dev.record;
  const connection = openConnection({ address });
  const keys = openKeyRing({ folder: join(dataFolder, 'keys'), create: false });
  const client = new HeddleClient(
    new Client({ connection, namespace, plugins: [heddle({ keys, namespace })] }),
    { by: 'demo' },
  );
  try {
    const story: Story = { dev, client, signal, scripts: 0 };
    const results = [
      await create(story),
      await scaleThroughCrash(story),
      await count(story),
      await remove(story),
    ];
    const right = results.every(Boolean);
    narrate(right ? 'All counts are right.' : 'Some counts are WRONG.');
    return right;
  } finally {
    await connection.close();
  }
}

interface Story {
  readonly dev: DevProcess;
  readonly client: HeddleClient;
  readonly signal: AbortSignal;
  /** Scripts that the plans so far announced. */
  scripts: number;
}

async function create(story: Story): Promise<boolean> {
  narrate(
    `Creates the cluster of ${relative(root, example)}: two applications with Redis behind load balancers`,
  );
  const status = await apply(story, readExample());
  const balancer = status.nodes.find((node) => node.services.includes('balancer'));
  say(
    `the balancer on ${balancer?.nodeId} is ${text(balancer?.payload['balancer'])}, at ${text(balancer?.payload['url'])}`,
  );
  return expectAnswers(status, ['app-1', 'app-2']);
}

async function scaleThroughCrash(story: Story): Promise<boolean> {
  narrate('Scales to four applications, and kills the worker in the middle (SIGKILL)');
  const spec = readExample();
  const app = spec.nodes['app'];
  if (app === undefined) throw new Error('the example has no group "app"');
  const status = await apply(
    story,
    { ...spec, nodes: { ...spec.nodes, app: { ...app, count: 4 } } },
    async () => {
      const { killed, started } = await story.dev.killWorker();
      say(`worker ${killed} was killed; worker ${started} continues its work`);
    },
  );
  return expectAnswers(status, ['app-1', 'app-2', 'app-3', 'app-4']);
}

/** Applies a spec and waits; `midway` is called once, while the new nodes are on their way. */
async function apply(story: Story, spec: ClusterSpec, midway?: () => Promise<void>): Promise<ClusterStatus> {
  const { client, signal } = story;
  const { plan } = await client.plan(spec);
  story.scripts += scriptsIn(plan);
  const { operation } = await client.apply(spec);
  let crash: Promise<void> | undefined;
  let silent = false;
  const { operation: ended, status } = await client.waitFor(spec.name, operation, {
    signal,
    everyMs: 150,
    onStatus: (now) => {
      // The first status in which the new machines exist but are far from done.
      const busy = now.nodes.some(
        ({ current }) => current?.state === 'running' && current.action !== 'CREATE',
      );
      if (busy && midway !== undefined && crash === undefined) {
        crash = midway();
        // Its failure is reported when it is awaited below.
        crash.catch(() => undefined);
      }
      silent = false;
    },
    onSilence: () => {
      if (!silent) say('no worker responds; the state is in the Temporal server');
      silent = true;
    },
  });
  await crash;
  if (ended.state !== 'done') throw new Error(`operation ${operation} is ${ended.state}: ${ended.reason}`);
  if (midway !== undefined && crash === undefined)
    throw new Error('the operation ended before the worker could be killed');
  say(`operation ${operation} is done: ${ended.tasks.done} tasks on ${status.nodes.length} nodes`);
  return status;
}

/** Asks the balancer until every application has answered. */
async function expectAnswers(status: ClusterStatus, wanted: readonly string[]): Promise<boolean> {
  const url = text(status.nodes.find((node) => node.services.includes('balancer'))?.payload['url']);
  const seen = new Set<string>();
  for (let request = 0; request < 40 && seen.size < wanted.length; request += 1) {
    const answer = await fetch(url, { headers: { connection: 'close' } }).then(
      (response) => response.text(),
      () => '',
    );
    const node = /^hello from (\S+)$/m.exec(answer)?.[1];
    if (node === undefined) await pause(100);
    else seen.add(node);
  }
  const answered = [...seen].toSorted();
  return check(answered.join() === wanted.join(), `the balancer gives answers of ${answered.join(', ')}`);
}

async function count({ dev, client, scripts }: Story): Promise<boolean> {
  narrate('Counts what really happened');
  const { nodes } = await client.status('web');
  const machines = await countMachines(dev.record);
  const runs = await countRuns(client, 'web');
  return [
    check(
      machines.alive === nodes.length,
      `${machines.alive} machines for ${nodes.length} nodes (source: the machine service's list)`,
    ),
    check(
      machines.created === nodes.length && machines.keys === nodes.length,
      `${machines.created} machines ever created, ${machines.keys} different (source: the machine service's journal)`,
    ),
    check(
      runs.folders === scripts && runs.notOnce === 0,
      `${runs.folders} scripts for ${scripts} planned, ${runs.notOnce} of them not exactly once (source: the run folders on the nodes)`,
    ),
  ].every(Boolean);
}

async function remove({ dev, client, signal }: Story): Promise<boolean> {
  narrate('Deletes the cluster');
  const { operation } = await client.delete('web');
  if (operation === undefined) throw new Error('no worker took the delete');
  const { operation: ended } = await client.waitFor('web', operation, { signal });
  const { alive } = await countMachines(dev.record);
  return check(
    ended.state === 'done' && alive === 0,
    `${alive} machines are left (source: the machine service's list)`,
  );
}

function readExample(): ClusterSpec {
  const reading = loadSpecFile(example);
  if (!reading.ok) throw new Error(reading.problems.map(formatProblem).join('\n'));
  return reading.spec;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '(unknown)';
}

const startedAt = Date.now();

/** One line of the demo's story, with the seconds since it began. */
function say(text: string): void {
  process.stdout.write(
    `${styleText('dim', `${((Date.now() - startedAt) / 1000).toFixed(1).padStart(5)} s`)}  ${text}\n`,
  );
}

/** A heading of the story. */
function narrate(text: string): void {
  process.stdout.write(`\n${styleText('bold', text)}\n`);
}

/** A count with its source, and whether it is as expected. */
function check(ok: boolean, text: string): boolean {
  const mark = ok ? styleText('green', 'ok   ') : styleText('red', 'WRONG');
  process.stdout.write(`         ${mark}  ${text}\n`);
  return ok;
}
