import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { WaitResult } from '../../src/client/wait.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

const patience = { everyMs: 100 } as const;

describe('a cluster under outside influence', () => {
  let folder: string;
  let stack: Stack;
  let ledger: Ledger;
  let hosts: readonly TestNode[];
  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
    hosts = await Promise.all([startNode(), startNode()]);
    const machines = hosts.map(({ target }, index) => ({
      name: `h${index}`,
      address: '127.0.0.1',
      port: target.port,
      user: 'me',
      password: 'let me in',
    }));
    stack = await startStack({
      accounts: { rack: { type: 'static', hostKeys: 'pin', fields: { machines } } },
      config: { scale: { inlineNodes: 2, groupNodes: 2 } },
    });
    await stack.startWorker();
  });
  afterAll(async () => {
    await stack.stop();
    await Promise.all(hosts.map((host) => host.close()));
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

  const idOf = ({ status }: WaitResult, node: string): string =>
    status.nodes.find(({ nodeId }) => nodeId === node)?.providerid ?? '';
  const handle = (name: string) => stack.client.temporal.workflow.getHandle(`cluster/${name}`);

  it.concurrent('terminated, then applied again: the machines are adopted, and a file without a place for one is refused', async () => {
    const first = await apply(specFor('twice', 4));
    const before = await machinesOf('twice');
    expect(before).toHaveLength(4);
    await handle('twice').terminate('by hand');

    const smaller = await apply(specFor('twice', 3));
    expect(smaller.operation.state).toBe('rejected');
    const fourth = idOf(first, 'app-4');
    expect(smaller.operation.reason).toContain(`app-4 (machine ${fourth} of provider local)`);
    expect(smaller.operation.reason).not.toContain('app-3');
    expect(await machinesOf('twice')).toEqual(before);

    // A file that has a place for all of them adopts them, and then the smaller file names what it removes.
    const whole = await apply(specFor('twice', 4));
    expect(whole.operation.state).toBe('done');
    expect(whole.status.uid).not.toBe(first.status.uid);
    expect(await machinesOf('twice')).toEqual(before);
    // The new run knows nothing of the scripts of the first.
    for (const action of ['CONFIGURE', 'START'])
      expect(await ledger.lines(`twice app-1 app ${action} begin`)).toHaveLength(2);
    expect((await apply(specFor('twice', 3))).operation.state).toBe('done');
    expect(await machinesOf('twice')).toEqual(before.filter((id) => id !== fourth));
    const { operation = '' } = await stack.client.delete('twice');
    expect((await stack.client.waitFor('twice', operation, patience)).operation.state).toBe('done');
    expect(await machinesOf('twice')).toEqual([]);
  });

  it.concurrent('terminated, then applied to fewer nodes of a file: refused', async () => {
    const spec = specFor('limited', 2);
    await apply(spec);
    const before = await machinesOf('limited');
    await handle('limited').terminate('by hand');
    const { operation } = await stack.client.apply(spec, { nodes: ['app-1'] });
    const end = await stack.client.waitFor('limited', operation, patience);
    expect(end.operation).toMatchObject({ state: 'rejected', reason: expect.stringContaining('app-2') });
    expect(await machinesOf('limited')).toEqual(before);
    expect((await apply(spec)).operation.state).toBe('done');
    expect(await machinesOf('limited')).toEqual(before);
  });

  it.concurrent('a machine that is gone shows as drift, and apply replaces it; peers are configured again', async () => {
    const { client, service } = stack;
    const spec = specFor('drift', 3);
    const { status } = await apply(spec);
    const lost = status.nodes.find(({ nodeId }) => nodeId === 'app-3')?.providerid ?? '';
    await service.call('DELETE', `/v1/machines/${lost}`);
    await until('it is gone', async () => !(await machinesOf('drift')).includes(lost));
    await client.probe('drift');
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
    expect(history.some(({ by }) => by === 'repair (periodic check)')).toBe(true);
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

  it.concurrent('with groups and reset to its begin: the groups of the run that was cut off end, and new ones serve', async () => {
    const { client, namespace } = stack;
    const spec = specFor('regrouped', 4);
    await apply(spec);
    const before = await machinesOf('regrouped');
    const group = client.temporal.workflow.getHandle('cluster/regrouped/group/1');
    const cutOff = (await group.describe()).runId;
    const { events } = await handle('regrouped').fetchHistory();
    const first = events?.find((event) => event.workflowTaskCompletedEventAttributes);
    await client.temporal.workflowService.resetWorkflowExecution({
      namespace,
      requestId: 'reset-regrouped',
      reason: 'test',
      workflowTaskFinishEventId: first?.eventId,
      workflowExecution: { workflowId: 'cluster/regrouped' },
    });
    await until('it is at rest again', async () => {
      const { phase, nodes: all } = await client.status('regrouped');
      return phase === 'idle' && all.length === 4 && all.every(({ state }) => state === 'ready');
    });
    expect((await group.describe()).runId).not.toBe(cutOff);
    expect(await machinesOf('regrouped')).toEqual(before);
    const { operation } = await client.operate('regrouped', { kind: 'restart', services: ['app'] });
    expect((await client.waitFor('regrouped', operation, patience)).operation.state).toBe('done');
    expect(await ledger.lines('regrouped app-4 app START begin')).toHaveLength(2);
  });

  async function deleteByName(ids: readonly string[]): Promise<void> {
    await until('the sweep lists them', async () => {
      const { leaks } = await stack.client.sweep();
      return ids.every((id) => leaks.some(({ providerid }) => providerid === id));
    });
    const { deleted } = await stack.client.deleteLeaks(ids);
    expect(deleted.map(({ providerid }) => providerid).toSorted()).toEqual(ids.toSorted());
  }

  it('terminated during a create, then applied with other machines: refused until the first ones are deleted by name', async () => {
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
    const larger = specFor('midway', 2, {}, { hardware: 'large' });
    const refused = await apply(larger);
    expect(refused.operation.state).toBe('rejected');
    for (const id of before) expect(refused.operation.reason).toContain(id);
    expect(await machinesOf('midway')).toEqual(before);
    await deleteByName(before);
    expect((await apply(larger)).operation.state).toBe('done');
    const after = await machinesOf('midway');
    expect(after).toHaveLength(2);
    expect(after.filter((id) => before.includes(id))).toEqual([]);
  });

  it('terminated with existing machines, then applied with fewer: their claims stay until they are freed by name', async () => {
    const onRack = (name: string, count: number): ClusterSpec =>
      closed({ name, nodes: { host: nodes(count, [], { provider: 'rack' }) } });
    const first = await apply(onRack('racked', 2));
    expect(first.operation.state).toBe('done');
    const second = idOf(first, 'host-2');
    await handle('racked').terminate('by hand');
    const refused = await apply(onRack('racked', 1));
    expect(refused.operation).toMatchObject({ state: 'rejected', reason: expect.stringContaining(second) });
    await deleteByName([second]);
    const fewer = await apply(onRack('racked', 1));
    expect(fewer.operation.state).toBe('done');
    expect(idOf(fewer, 'host-1')).toBe(idOf(first, 'host-1'));
    expect(idOf(await apply(onRack('other', 1)), 'host-1')).toBe(second);
  });
});
