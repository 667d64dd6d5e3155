import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PoolClient } from '../../src/client/pool/pool-client.js';
import { readIdentity } from '../../src/model/worker-identity.js';
import { readSurely } from '../harness/chaos/ask.js';
import { type ChaosWorld, openWorld } from '../harness/chaos/chaos-world.js';
import { live } from '../harness/chaos/lives.js';
import { judgeEnd } from '../harness/chaos/oracle.js';
import { openRandom, seedOf } from '../harness/chaos/random.js';
import { startOnSqlite } from '../harness/chaos/server.js';
import { newFolder } from '../harness/folder.js';
import { openGround } from '../harness/machine/ground.js';
import { buildAgain, type BuildCopy } from '../harness/replay/build-copy.js';

const unhandledCommand =
  temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;

/** Each round replaces both workers. */
const rounds = 10;

describe('an upgrade of the workers to another build', () => {
  let world: ChaosWorld;
  let other: BuildCopy;
  beforeAll(async () => {
    const folder = newFolder();
    other = await buildAgain(inject('distPath'));
    const server = await startOnSqlite(folder, inject('temporalBinary'));
    world = await openWorld({ server, distPath: inject('distPath'), folder });
  });
  afterAll(async () => {
    await world?.stop();
    await other?.remove();
  });

  it('fails no workflow task, leaks no machine and runs no script twice', { timeout: 900_000 }, async () => {
    const seed = seedOf();
    let rolling = true;
    const isOver = (): boolean => !rolling;
    const pool = await createPool(world);
    const work = Promise.all([
      ...[1, 2].map((slot) => liveOn(world, slot, seed, isOver)),
      usePool(pool, isOver),
      switchMachine(world, isOver),
    ]);
    try {
      for (let round = 1; round <= rounds; round += 1)
        await world.crew.roll(round % 2 === 1 ? other.distPath : inject('distPath'));
    } finally {
      rolling = false;
    }
    const wrong = (await work).flat();
    await readSurely(() => pool.deletePool());

    const { failed, builds } = await readTasks(world.stack.client.temporal);
    expect(builds.size, 'builds that completed workflow tasks').toBe(2);
    expect([...wrong, ...failed, ...(await judgeEnd(world))], `HEDDLE_SEED=${seed}`).toEqual([]);
  });
});

/** Clusters that are created, changed and deleted, one after the other. */
async function liveOn(
  world: ChaosWorld,
  slot: number,
  seed: number,
  isOver: () => boolean,
): Promise<readonly string[]> {
  const random = openRandom(seed).fork(`${slot}`);
  const wrong: string[] = [];
  for (let count = 1; !isOver(); count += 1) {
    const name = `cluster-${slot}-${count}`;
    const report = await live(world, {
      name,
      account: 'local',
      random,
      operations: 3,
      isOver,
      say: () => undefined,
    });
    wrong.push(...report.wrong, ...report.held);
  }
  return wrong;
}

async function createPool({ stack }: ChaosWorld): Promise<PoolClient> {
  const pool = new PoolClient(stack.client.temporal, 'ci', { by: 'test' });
  const offer = { hardware: 'tiny', image: 'host', fields: {}, uses: { nodes: 1 } };
  const main = {
    provider: 'local',
    priority: 100,
    limits: { nodes: 3 },
    attributes: {},
    launchAttempts: 3,
    labels: { a: offer },
  };
  const labels = { a: { minReady: 1, spareAge: 600, onReturn: 'delete' as const } };
  await pool.apply({ name: 'ci', tenants: {}, labels, providerPools: { main } });
  return pool;
}

async function usePool(pool: PoolClient, isOver: () => boolean): Promise<readonly string[]> {
  while (!isOver()) {
    const { id } = await readSurely(() => pool.obtain(['a']));
    await readSurely(() => pool.return(id));
  }
  return [];
}

/** A standalone machine whose power is switched. */
async function switchMachine({ stack }: ChaosWorld, isOver: () => boolean): Promise<readonly string[]> {
  const { add, begin, end } = openGround(stack);
  await add('solo');
  const wrong: string[] = [];
  const run = async (intent: Parameters<typeof begin>[1]): Promise<void> => {
    const operation = await readSurely(() => begin('solo', intent));
    const ended = await readSurely(() => end('solo', operation));
    if (ended.operation.state !== 'done') wrong.push(`solo: ${JSON.stringify(ended.operation)}`);
  };
  while (!isOver()) for (const verb of ['off', 'on'] as const) await run({ kind: 'power', verb });
  await run({ kind: 'remove' });
  return wrong;
}

/** Workflow tasks that failed, and the builds that completed some, in all histories of the namespace. */
async function readTasks(
  client: Client,
): Promise<{ readonly failed: readonly string[]; readonly builds: ReadonlySet<string> }> {
  const failed: string[] = [];
  const builds = new Set<string>();
  for await (const { workflowId, runId } of client.workflow.list()) {
    const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    for (const {
      workflowTaskFailedEventAttributes: failure,
      workflowTaskCompletedEventAttributes: done,
    } of events ?? []) {
      const { build } = readIdentity(done?.identity ?? '');
      if (build !== undefined) builds.add(build);
      // A message that arrived while the workflow ended; the server repeats the task with it.
      if (failure && failure.cause !== unhandledCommand)
        failed.push(`${workflowId}: ${JSON.stringify(failure)}`);
    }
  }
  return { failed, builds };
}
