import { Client, type Connection, type Workflow, type WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { jsonBytes, maxSpecBytes, mostSent } from '../../src/model/carried.js';
import { packCluster, refuseTooLarge, unpackCluster } from '../../src/model/cluster/carry.js';
import { defaultLimits } from '../../src/model/cluster/limits.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import type { ClusterState } from '../../src/model/cluster/state.js';
import { workflowQueue } from '../../src/model/names.js';
import { maxPayloadBytes } from '../../src/model/node/payload.js';
import { openConnection } from '../../src/server/connect.js';
import { readOutputsSignal } from '../../src/workflows/cluster/messages.js';
import { noPeers } from '../../src/model/node/peers.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { closed, nodes } from '../harness/workflows/spec.js';

let stack: Stack;
/** A page of these histories has more than gRPC's own limit of 4 MiB. */
let connection: Connection;
beforeAll(async () => {
  connection = openConnection({ address: inject('temporalAddress') });
  stack = await startStack({ temporalAddress: inject('temporalAddress'), distPath: inject('distPath') });
  await stack.startWorker();
});
afterAll(async () => {
  await stack.stop();
  await connection.close();
});

/** A spec of this size as JSON, each different from the others. */
function specOf(name: string, number: number, bytes = maxSpecBytes): ClusterSpec {
  const make = (pad: number): ClusterSpec =>
    closed({
      name,
      nodes: { app: nodes(1, ['web']) },
      services: {
        web: {
          actions: { install: { type: 'shell', fields: { script: `: ${number} #`.padEnd(pad, '"') } } },
        },
      },
    });
  const few = jsonBytes(make(100));
  // A quote is two bytes of JSON.
  return make(100 + Math.floor((bytes - few) / 2));
}

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
      expect(why).toMatch(/would keep \d+ bytes .* room for \d+; wait until .*resources/);
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
      /has \d+ bytes as JSON, and at most 204800 .*resource put/,
    );
  });
});

describe('an entity that is filled to its limits', () => {
  const at = new Date(0).toISOString();
  const carried: Readonly<Record<string, () => object>> = {
    'cluster/full': () => fullCluster(),
    artifacts: () =>
      Object.fromEntries(
        Array.from({ length: 300 }, (_, number) => [
          `resource-${number}`,
          {
            versions: Array.from({ length: 10 }, (_one, version) => ({
              version: version + 1,
              digest: `sha256:${String(number * 10 + version).padStart(64, '0')}`,
              format: 'file',
              bytes: 1,
              parts: 1,
              by: 'x'.repeat(200),
              at,
            })),
            before: [],
            next: 11,
          },
        ]),
      ),
    'claims/full': () =>
      Object.fromEntries(
        Array.from({ length: 14_000 }, (_, number) => [`machine-${number}`, `key-${number}`.padEnd(80, 'k')]),
      ),
  };

  it.each(Object.keys(carried))('continues as new: %s', async (workflowId) => {
    const type = workflowId.split('/')[0] ?? '';
    const state = carried[workflowId]?.();
    expect(jsonBytes(state)).toBeGreaterThan(1_000_000);
    await stack.client.temporal.workflow.start<Workflow>(type, {
      workflowId,
      taskQueue: workflowQueue,
      args: [{ carried: state }],
    });
    await continueAsNew(workflowId);
    await continueAsNew(workflowId);
    await handleOf(workflowId).terminate();
  });

  it('continues as new although many clusters report that they use its outputs', async () => {
    const workflowId = 'cluster/read';
    await stack.client.temporal.workflow.start<Workflow>('cluster', {
      workflowId,
      taskQueue: workflowQueue,
      args: [{ carried: { ...fullCluster(), name: 'read' } }],
    });
    for (let number = 0; number < 30; number += 1)
      await handleOf(workflowId).signal(readOutputsSignal, {
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
    await stack.client.temporal.workflow.start<Workflow>('cluster', {
      workflowId,
      taskQueue: workflowQueue,
      args: [{ carried: { ...full, name: 'over', stopped: [pad] } }],
    });
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
    const pad = (bytes: number, salt: number): string => `${salt}`.padEnd(bytes, 'x');
    const failure = { nodeId: 'app-1', action: 'INSTALL', kind: 'ScriptFailed', message: pad(1_000, 1), at };
    const operation = (number: number): ClusterState['history'][number] =>
      ({
        id: `${number}`,
        kind: 'exec',
        intent: { kind: 'exec', command: pad(2_000, number) },
        what: pad(200, number),
        state: 'failed',
        by: 'test',
        requestedAt: at,
        endedAt: at,
        tasks: { total: 1, done: 1, failed: 0 },
        failures: Array.from({ length: 5 }, () => failure),
      }) as unknown as ClusterState['history'][number];
    const node = (number: number): ClusterState['nodes'][string] => ({
      nodeId: `app-${number}`,
      group: 'app',
      nodenum: number,
      hostname: `app-${number}`,
      incarnation: number,
      payload: { text: pad(maxPayloadBytes - 12, number) },
      facts: { services: {} },
      services: [],
      changedAt: 1,
      runs: {},
      failure: { ...failure, at } as unknown as ClusterState['nodes'][string]['failure'],
    });
    const state: ClusterState = {
      stateVersion: 1,
      name: 'full',
      uid: 'u',
      spec: specOf('full', 1),
      achieved: specOf('full', 2),
      before: specOf('full', 3),
      stopped: [],
      retired: {},
      nodes: Object.fromEntries(Array.from({ length: 50 }, (_, number) => [`app-${number}`, node(number)])),
      peers: noPeers,
      queue: [],
      history: Array.from({ length: 20 }, (_, number) => operation(number)),
      looks: { asked: 0, done: 0 },
      counters: { operation: 20, incarnation: 50, nodenum: 50, group: 0 },
      groups: {},
      features: { searchAttributes: false },
      limits: defaultLimits,
    };
    const waiting = specOf('full', 4);
    expect(refuseTooLarge(state, { intent: { kind: 'apply' }, spec: waiting })).toBeUndefined();
    // A held operation, so that the queued one stays.
    return packCluster({
      ...state,
      operation: { ...operation(21), state: 'held' },
      queue: [{ operation: { ...operation(22), state: 'queued' }, spec: waiting, waits: true }],
    });
  }
});
