import { beforeAll, describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { reset, resetPoints } from '../harness/faults/resets.js';
import { until } from '../harness/until.js';
import { openGroupedClusters } from '../harness/workflows/grouped-clusters.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const clusters = openGroupedClusters();
const { settled, apply, ended, machinesOf } = clusters;
let ledger: Ledger;
beforeAll(() => {
  ledger = openLedger(clusters.folder);
});

const specOf = (name: string, count: number): ClusterSpec =>
  closed({
    name,
    nodes: { app: nodes(count, ['app']) },
    services: { app: { actions: { start: ledger.script(), stop: ledger.script() } } },
  });

/** The group has ended, because it has no nodes. */
async function groupEnds(name: string, group = '1'): Promise<void> {
  await until(`group ${group} of ${name} has ended`, async () => {
    const { status } = await clusters.stack.client.temporal.workflow
      .getHandle(`cluster/${name}/group/${group}`)
      .describe();
    return status.name === 'COMPLETED';
  });
}

describe('after a reset of a cluster to before one of its groups ended', () => {
  it.each([0, 1, 2, 3, 4])(
    'an apply brings it to its file (at quarter %i of its history)',
    async (quarter) => {
      const name = `shrunk-${quarter}`;
      expect((await apply(specOf(name, 4))).state).toBe('done');
      expect((await apply(specOf(name, 2))).state).toBe('done');
      await groupEnds(name);
      const machines = await machinesOf(name);
      expect(machines).toHaveLength(2);
      const points = (await resetPoints(clusters.stack, name)).slice(3);
      await reset(clusters.stack, name, points[Math.round((quarter / 4) * (points.length - 1))]);
      await ended(name);
      expect((await apply(specOf(name, 2))).state).toBe('done');
      expect(await machinesOf(name)).toEqual(machines);
      // The nodes of the group can be made again.
      expect((await apply(specOf(name, 4))).state).toBe('done');
      const again = await machinesOf(name);
      expect(again).toHaveLength(4);
      expect(again).toEqual(expect.arrayContaining([...machines]));
      await clusters.stack.client.delete(name);
      await until('all machines are deleted', async () => (await machinesOf(name)).length === 0);
    },
  );
});

describe('after the end of a group from outside', () => {
  async function lost(name: string): Promise<readonly string[]> {
    expect((await apply(specOf(name, 4))).state).toBe('done');
    const machines = await machinesOf(name);
    await clusters.stack.client.temporal.workflow.getHandle(`cluster/${name}/group/1`).terminate('test');
    const { operation } = await clusters.stack.client.operate(name, { kind: 'restart', services: ['app'] });
    expect(await settled(name, operation)).toMatchObject({
      state: 'held',
      reason: expect.stringMatching(/is gone .* Run 'heddle apply FILE' to look for their machines$/),
    });
    return machines;
  }

  it('the next apply adopts the machines of its nodes', async () => {
    const name = 'ended';
    const machines = await lost(name);
    expect((await apply(specOf(name, 5))).state).toBe('done');
    const now = await machinesOf(name);
    expect(now).toHaveLength(5);
    expect(now).toEqual(expect.arrayContaining([...machines]));
  });

  it('the operation that waits for it is held, and a retry adopts its machines', async () => {
    const name = 'retried';
    const spec = closed({
      name,
      nodes: { app: nodes(4, ['app']) },
      services: { app: { actions: { start: ledger.script({ gate: name }) } } },
    });
    const { operation } = await clusters.stack.client.apply(spec);
    await ledger.written(`${name} app-1 app START begin`);
    await ledger.written(`${name} app-3 app START begin`);
    const machines = await machinesOf(name);
    await clusters.stack.client.temporal.workflow.getHandle(`cluster/${name}/group/1`).terminate('test');
    await ledger.open(name);
    expect(await settled(name, operation)).toMatchObject({
      state: 'held',
      reason: expect.stringMatching(/is gone .* Run 'heddle apply FILE' to look for their machines$/),
    });
    await clusters.stack.client.retry(name);
    expect((await settled(name, operation)).state).toBe('done');
    expect(await machinesOf(name)).toEqual(machines);
  });

  it('a limited apply is refused', async () => {
    const name = 'limited';
    const machines = await lost(name);
    const { operation } = await clusters.stack.client.apply(specOf(name, 4), { nodes: ['app-1'] });
    expect(await settled(name, operation)).toMatchObject({
      state: 'rejected',
      reason: expect.stringMatching(/had nodes that are unknown now: apply the whole file first$/),
    });
    expect((await apply(specOf(name, 4))).state).toBe('done');
    expect(await machinesOf(name)).toEqual(machines);
  });

  it('an apply without a place for its machines is refused', async () => {
    const name = 'smaller';
    const machines = await lost(name);
    const { state, reason } = await apply(specOf(name, 3));
    expect(state).toBe('rejected');
    expect(reason).toMatch(/group of .* left machines that this apply has no place for: app-4/);
    expect(await machinesOf(name)).toEqual(expect.arrayContaining([...machines]));
    expect((await apply(specOf(name, 4))).state).toBe('done');
    expect(await machinesOf(name)).toEqual(machines);
    expect((await apply(specOf(name, 3))).state).toBe('done');
    expect(await machinesOf(name)).toHaveLength(3);
  });
});
