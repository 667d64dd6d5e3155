import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { WaitResult } from '../../src/client/wait.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const patience = { everyMs: 100 } as const;

describe('a cluster under outside influence', () => {
  let folder: string;
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'heddle-legacy-'));
    ledger = openLedger(folder);
    stack = await startStack({
      temporalAddress: inject('temporalAddress'),
      distPath: inject('distPath'),
      config: { scale: { inlineNodes: 2, groupNodes: 2 } },
    });
    await stack.startWorker();
  });
  afterAll(async () => {
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function specFor(name: string, count: number, more: object = {}, group: object = {}): ClusterSpec {
    const actions = { configure: ledger.script(), start: ledger.script(), stop: ledger.script() };
    return closed({
      name,
      nodes: { app: nodes(count, ['app'], group) },
      services: { app: { actions } },
      ...more,
    });
  }

  async function apply(spec: ClusterSpec): Promise<WaitResult> {
    const { operation } = await stack.client.apply(spec);
    return stack.client.waitFor(spec.name, operation, patience);
  }

  async function machinesOf(name: string): Promise<readonly string[]> {
    const all = await stack.service.machines();
    return all
      .filter((machine) => JSON.stringify(machine).includes(`"${name}"`))
      .map(({ id }) => String(id))
      .toSorted();
  }

  const handle = (name: string) => stack.client.temporal.workflow.getHandle(`cluster/${name}`);

  it.concurrent('terminated, then applied again: matching machines are adopted, the others are deleted', async () => {
    const first = await apply(specFor('twice', 4));
    const before = await machinesOf('twice');
    expect(before).toHaveLength(4);
    await handle('twice').terminate('by hand');
    const second = await apply(specFor('twice', 3));
    expect(second.operation.state).toBe('done');
    expect(second.status.uid).not.toBe(first.status.uid);
    // The new run knows nothing of the scripts of the first.
    for (const action of ['CONFIGURE', 'START'])
      expect(await ledger.lines(`twice app-1 app ${action} begin`)).toHaveLength(2);
    const after = await machinesOf('twice');
    expect(after).toEqual(second.status.nodes.map(({ providerid = '' }) => providerid).toSorted());
    expect(after).toHaveLength(3);
    expect(before).toEqual(expect.arrayContaining([...after]));
    const { operation = '' } = await stack.client.delete('twice');
    expect((await stack.client.waitFor('twice', operation, patience)).operation.state).toBe('done');
    expect(await machinesOf('twice')).toEqual([]);
  });

  it.concurrent('terminated during a create, then applied with other machines: nothing is left of the first', async () => {
    const gated = closed({
      name: 'midway',
      nodes: { app: nodes(2, ['app']) },
      services: { app: { actions: { start: ledger.script({ gate: 'midway' }) } } },
    });
    await stack.client.apply(gated);
    await ledger.written('midway app-1 app START begin');
    const before = await machinesOf('midway');
    await handle('midway').terminate('by hand');
    await ledger.open('midway');
    const second = await apply(specFor('midway', 2, {}, { hardware: 'large' }));
    expect(second.operation.state).toBe('done');
    const after = await machinesOf('midway');
    expect(after).toHaveLength(2);
    expect(after.filter((id) => before.includes(id))).toEqual([]);
  });

  it.concurrent('a machine that is gone shows as drift, and apply replaces it; peers are configured again', async () => {
    const { client, service } = stack;
    const spec = specFor('drift', 3);
    const { status } = await apply(spec);
    const lost = status.nodes.find(({ nodeId }) => nodeId === 'app-3')?.providerid ?? '';
    await service.call('DELETE', `/v1/machines/${lost}`);
    await until('it is gone', async () => !(await machinesOf('drift')).includes(lost));
    await client.look('drift');
    const { current, plan } = await client.plan(spec);
    expect(
      current.nodes.filter(({ facts }) => facts.seen === 'gone').map(({ nodes: ranges }) => ranges),
    ).toEqual([[[3, 3]]]);
    expect(plan.kinds.some(({ purpose }) => purpose === 'replace')).toBe(true);
    const repaired = await apply(spec);
    expect(repaired.operation.state).toBe('done');
    expect(repaired.status.nodes.find(({ nodeId }) => nodeId === 'app-3')?.providerid).not.toBe(lost);
    expect(await machinesOf('drift')).toHaveLength(3);
    expect((await ledger.lines('drift app-1 app CONFIGURE begin')).length).toBe(2);
  });

  it.concurrent('a cluster with periodic checks replaces a machine that is gone', async () => {
    const { service, client } = stack;
    const { status } = await apply(specFor('alone', 1, { repair: { every: '2s' } }));
    const [lost = ''] = status.nodes.flatMap(({ providerid }) => providerid ?? []);
    await service.call('DELETE', `/v1/machines/${lost}`);
    await until('another machine is in its place', async () => {
      const {
        nodes: [node],
        phase,
      } = await client.status('alone');
      return (
        phase === 'idle' &&
        node?.state === 'ready' &&
        node.providerid !== undefined &&
        node.providerid !== lost
      );
    });
    expect(await machinesOf('alone')).toHaveLength(1);
    const { history } = await client.status('alone');
    expect(history.some(({ by }) => by === 'repair (a scheduled look)')).toBe(true);
  });

  it.concurrent('reset to each of its workflow tasks in turn: no second machine, no script executed twice', async () => {
    const { client } = stack;
    const spec = specFor('reset', 2);
    await apply(spec);
    const before = await machinesOf('reset');
    const count = (await ledger.lines('reset ')).length;
    const { events } = await handle('reset').fetchHistory();
    const points = (events ?? []).flatMap((event) =>
      event.workflowTaskCompletedEventAttributes === undefined ||
      event.workflowTaskCompletedEventAttributes === null
        ? []
        : [Number(event.eventId)],
    );
    const first = (await handle('reset').describe()).runId;
    for (const point of [points[1], points[Math.floor(points.length / 2)], points.at(-1)]) {
      if (point === undefined) continue;
      // Always of the first run: a later one has other events.
      const runId = first;
      await client.temporal.workflowService.resetWorkflowExecution({
        namespace: stack.namespace,
        requestId: `reset-${point}`,
        reason: 'test',
        workflowTaskFinishEventId: point as never,
        workflowExecution: { workflowId: 'cluster/reset', runId },
      });
      expect((await handle('reset').describe()).runId).not.toBe(runId);
      await until('it is at rest again', async () => (await client.status('reset')).phase === 'idle');
    }
    expect(await machinesOf('reset')).toEqual(before);
    expect((await ledger.lines('reset ')).length).toBe(count);
    expect((await client.status('reset')).nodes.map(({ state }) => state)).toEqual(['ready', 'ready']);
  });
});
