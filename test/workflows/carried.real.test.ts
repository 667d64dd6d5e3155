import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, type Connection, type Workflow, type WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { jsonBytes, maxSpecBytes, mostSent } from '../../src/model/carried.js';
import { packCluster, unpackCluster } from '../../src/model/cluster/carry.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { groupQueue, groupWorkflowId, groupWorkflowType, workflowQueue } from '../../src/model/names.js';
import { openConnection } from '../../src/server/connect.js';
import {
  artifactMessages,
  clusterMessages,
  groupMessages,
  poolMessages,
} from '../../src/workflows/messages.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { newGroup, type GroupStart } from '../../src/model/cluster/group.js';
import { newCluster, type ClusterState } from '../../src/model/cluster/state.js';
import { packWork } from '../../src/model/cluster/work.js';
import type { ServedPlan } from '../../src/model/plan/plan.js';
import { fullClusterState } from '../harness/workflows/filled-clusters.js';
import { filled } from '../harness/workflows/filled.js';
import { specOf } from '../harness/workflows/filler.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

let stack: Stack;
/** A page of these histories has more than gRPC's own limit of 4 MiB. */
let connection: Connection;
beforeAll(async () => {
  connection = openConnection({ address: inject('temporalAddress') });
  stack = await startStack();
  await stack.startWorker();
});
afterAll(async () => {
  await stack.stop();
  await connection.close();
});

const handleOf = (id: string): WorkflowHandle => stack.client.temporal.workflow.getHandle(id);

/** Cancelling an entity begins a new run. */
async function continueAsNew(workflowId: string): Promise<void> {
  const { runId } = await handleOf(workflowId).describe();
  await handleOf(workflowId).cancel();
  await until('the next run begins', async () => (await handleOf(workflowId).describe()).runId !== runId);
  expect(await failuresOf(workflowId, runId)).toEqual([]);
}

/** Workflow tasks that failed in a worker; the server fails one to deliver what came meanwhile. */
async function failuresOf(workflowId: string, runId: string): Promise<readonly string[]> {
  const { namespace } = stack.client.temporal.options;
  const handle = new Client({ connection, namespace }).workflow.getHandle(workflowId, runId);
  return ((await handle.fetchHistory()).events ?? []).flatMap(
    ({ workflowTaskFailedEventAttributes: failed }) =>
      failed && failed.cause !== 1 ? [`${failed.cause} ${failed.failure?.message ?? ''}`] : [],
  );
}

describe('a cluster', () => {
  it('takes a spec of the largest size again and again, and continues as new', async () => {
    for (const number of [1, 2, 3]) {
      const { operation } = await stack.client.apply(specOf('large', number));
      const { status } = await stack.client.waitFor('large', operation);
      expect(status.history[0]).toMatchObject({ id: operation, state: 'done' });
      await continueAsNew('cluster/large');
    }
    expect(jsonBytes(await stack.client.spec('large'))).toBeGreaterThan(maxSpecBytes - 10);
    const { operation } = await stack.client.operate('large', { kind: 'rollback' });
    await stack.client.waitFor('large', operation ?? '');
    await stack.client.delete('large');
  });

  it('queues specs until it is full, says so, and goes on', async () => {
    await stack.client.apply(specOf('queued', 0));
    const replies = await Promise.allSettled(
      Array.from({ length: 19 }, (_, number) =>
        stack.client.apply(specOf('queued', number + 1, 200_000), { queue: true }),
      ),
    );
    const refused = replies.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
    expect(refused.length).toBeGreaterThan(0);
    for (const why of refused)
      expect(why).toMatch(/would store \d+ bytes .*the limit is \d+; wait until .*resources/);
    await continueAsNew('cluster/queued');
    expect(await stack.client.status('queued')).toMatchObject({ name: 'queued' });
    await stack.client.delete('queued');
    await until(
      'the cluster is gone',
      async () => (await handleOf('cluster/queued').describe()).status.name === 'COMPLETED',
    );
  });

  it('refuses a spec that is too large with size, limit and remedy', async () => {
    const spec = { ...specOf('huge', 0), pad: 'x'.repeat(maxSpecBytes) } as ClusterSpec;
    await expect(stack.client.apply(spec)).rejects.toThrow(
      /has \d+ bytes as JSON; the limit is 204800; .*resource put/,
    );
  });
});

describe('an entity that is filled to its limits', () => {
  const types = Object.keys(filled) as (keyof typeof filled)[];

  it.each(types)('continues as new again and again: %s', async (type) => {
    const { id, carried } = filled[type];
    await start(type, id, carried());
    await continueAsNew(id);
    await continueAsNew(id);
    await handleOf(id).terminate();
  });

  it('refuses what would not fit, with size, limit and remedy: pool', async () => {
    const { id, carried } = filled.pool;
    await start('pool', id, carried());
    const demand = { id: 'one-more', labels: ['label-0'], requester: 'test' };
    await expect(
      handleOf(id).executeUpdate(poolMessages.updates.request, { args: [[demand]] }),
    ).rejects.toMatchObject({
      cause: {
        message: expect.stringMatching(
          /^pool full would have \d+ bytes of nodes and requests as JSON; the limit is \d+; return nodes/,
        ) as string,
      },
    });
    await continueAsNew(id);
    await handleOf(id).terminate();
  });

  it('refuses what would not fit, with size, limit and remedy: artifacts', async () => {
    await start('artifacts', 'artifacts', filled.artifacts.carried());
    const put = {
      name: 'resource-1',
      digest: `sha256:${'0'.repeat(64)}`,
      format: 'file',
      bytes: 1,
      parts: 1,
      by: '\u0001'.repeat(200),
    } as const;
    await expect(
      handleOf('artifacts').executeUpdate(artifactMessages.updates.put, { args: [put] }),
    ).rejects.toMatchObject({
      cause: {
        message: expect.stringMatching(
          /would have \d+ bytes as JSON; the limit is \d+; .*heddle resource prune/,
        ) as string,
      },
    });
    await handleOf('artifacts').terminate();
  });

  it('continues as new although many clusters report that they use its outputs', async () => {
    const workflowId = 'cluster/read';
    await start('cluster', workflowId, { ...fullCluster(), name: 'read' });
    for (let number = 0; number < 30; number += 1)
      await handleOf(workflowId).signal(clusterMessages.signals.readOutputs, {
        cluster: `reader-${number}`,
        values: { x: 'x'.repeat(20_000) },
      });
    await continueAsNew(workflowId);
    await handleOf(workflowId).terminate();
  });

  it('continues in its run if its state does not fit into a next one, and still takes messages', async () => {
    const workflowId = 'cluster/over';
    const handle = handleOf(workflowId);
    // Cancelling an operation would make the state smaller.
    const { operation: _operation, ...idle } = unpackCluster(fullCluster());
    const full = packCluster({ ...idle, queue: [] });
    const pad = 'x'.repeat(mostSent + 5_000 - jsonBytes(full));
    await start('cluster', workflowId, { ...full, name: 'over', stopped: [pad] });
    const { runId } = await handle.describe();
    await handle.cancel();
    expect(await stack.client.status('over')).toMatchObject({ name: 'over' });
    expect((await handle.describe()).runId).toBe(runId);
    const { operation } = await stack.client.delete('over');
    expect(operation).toBeDefined();
    expect(await failuresOf(workflowId, runId)).toEqual([]);
    await handle.terminate();
  });

  function fullCluster(): ReturnType<typeof packCluster> {
    return packCluster({ ...fullClusterState(), groups: {} });
  }
});

describe('a cluster whose plan was not carried', () => {
  let folder: string;
  let ledger: Ledger;
  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
  });

  it('lets its groups end their tasks, plans again and ends its operation', async () => {
    await interrupt('unplanned', 'true');
    const { status, operation } = await stack.client.waitFor('unplanned', '1');
    expect(operation).toMatchObject({ state: 'done' });
    expect(status.nodes.map(({ nodeId }) => nodeId).toSorted()).toEqual(['app-1', 'app-2', 'app-3']);
    expect(await begun('unplanned')).toEqual(oncePerNode('INSTALL', 'START'));
    expect(
      await handleOf('cluster/unplanned/group/1').query(clusterMessages.queries.payload, 'app-3'),
    ).toMatchObject({ nodenum: 3 });
    const made = (await stack.service.machines()).map(({ hostname }) => String(hostname));
    expect(made.filter((name) => name.startsWith('unplanned-'))).toHaveLength(3);
    await stack.client.delete('unplanned');
  });

  it('holds its operation if a node of a group failed, and repeats its task only when it is asked to', async () => {
    const mended = join(folder, 'mended');
    await interrupt('failing', `[ $HEDDLE_NODE != app-3 ] || [ -e ${mended} ] || exit 1`);
    const { operation } = await stack.client.waitFor('failing', '1');
    expect(operation).toMatchObject({
      state: 'held',
      reason: expect.stringMatching(/^INSTALL of web on app-3 failed/) as string,
    });
    expect(await begun('failing')).toEqual(['app-2 INSTALL', 'app-3 INSTALL']);
    await writeFile(mended, '');
    await stack.client.retry('failing');
    expect((await stack.client.waitFor('failing', '1')).operation).toMatchObject({ state: 'done' });
    expect(await begun('failing')).toEqual([...oncePerNode('INSTALL', 'START'), 'app-3 INSTALL'].toSorted());
    await stack.client.delete('failing');
  });

  /**
   * A cluster as a run gets it from one that could not carry its plan: group 1 is at INSTALL of
   * app-2 and app-3, and app-1 is not made yet.
   */
  async function interrupt(name: string, install: string): Promise<void> {
    const { client } = stack;
    const spec = closed({
      name,
      nodes: { app: nodes(3, ['web']) },
      services: {
        web: { actions: { install: ledger.script({ gate: name, body: install }), start: ledger.script() } },
      },
    });
    const { plan } = await client.plan(spec);
    const { features: _features, limits, plugins } = plan as ServedPlan;
    const uid = randomUUID();
    const groupUid = randomUUID();
    const members = { app: [[2, 3]] } as const;
    const group = await client.temporal.workflow.start<Workflow>(groupWorkflowType, {
      workflowId: groupWorkflowId(name, '1'),
      taskQueue: groupQueue,
      args: [
        {
          cluster: name,
          clusterUid: uid,
          group: '1',
          uid: groupUid,
          operation: '1',
          limits,
        } satisfies GroupStart,
      ],
    });
    const work = {
      operation: '1',
      kinds: plan.kinds.map((kind) => ({ ...kind, nodes: members.app })),
      placements: plan.placements,
      plugins,
      positions: {},
      doneBefore: 0,
    };
    const instruction = {
      do: 'work',
      work: packWork(work),
      incarnation: 0,
      services: spec.services,
      config: {},
      limits,
      nodenums: { 'app-2': 2, 'app-3': 3 },
    } as const;
    await group.signal(groupMessages.signals.instruct, {
      groupUid,
      seq: 1,
      at: Date.now(),
      peersVersion: 0,
      list: [instruction],
    });
    for (const node of ['app-2', 'app-3']) await ledger.written(`${name} ${node} web INSTALL begin`);

    const state: ClusterState = {
      ...newCluster(name, uid),
      spec,
      limits,
      counters: { operation: 1, nodenum: 3, group: 1, revision: 0 },
      groups: { '1': { ...newGroup, uid: groupUid, members, sent: 1, seen: 1, over: false, quiet: false } },
      planned: true,
      operation: {
        id: '1',
        uid: 'uid1',
        kind: 'apply',
        intent: { kind: 'apply' },
        what: 'apply',
        state: 'running',
        by: 'test',
        requestedAt: new Date().toISOString(),
        tasks: { total: 15, done: 0, failed: 0 },
      },
      work: { ...work, kinds: [] },
    };
    await start('cluster', `cluster/${name}`, packCluster(state, 0));
    await until('the group is told to stop', async () => (await signalsOf(group)) > 1);
    await ledger.open(name);
  }

  async function signalsOf({ workflowId }: WorkflowHandle): Promise<number> {
    const { events } = await handleOf(workflowId).fetchHistory();
    return (events ?? []).filter((event) => event.workflowExecutionSignaledEventAttributes != null).length;
  }

  async function begun(name: string): Promise<readonly string[]> {
    return (await ledger.lines(`${name} `))
      .flatMap((line) => {
        const [, node, , action, what] = line.split(' ');
        return what === 'begin' ? [`${node} ${action}`] : [];
      })
      .toSorted();
  }

  function oncePerNode(...actions: readonly string[]): readonly string[] {
    return ['app-1', 'app-2', 'app-3'].flatMap((node) => actions.map((action) => `${node} ${action}`));
  }
});

async function start(type: string, workflowId: string, carried: unknown): Promise<void> {
  await stack.client.temporal.workflow.start<Workflow>(type, {
    workflowId,
    taskQueue: workflowQueue,
    args: [{ carried }],
  });
}
