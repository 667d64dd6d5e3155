import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { reset, resetPoints } from '../harness/faults/resets.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { clustersOn } from '../harness/workflows/clusters-on.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

let folder: string;
let ledger: Ledger;
let stack: Stack;
const { settled, apply, ended, machinesOf } = clustersOn(() => stack);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-reset-group-'));
  ledger = openLedger(folder);
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    distPath: inject('distPath'),
    config: { scale: { inlineNodes: 2, groupNodes: 4 } },
  });
  await stack.startWorker();
});
afterAll(async () => {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
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
    const { status } = await stack.client.temporal.workflow
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
      const points = (await resetPoints(stack, name)).slice(3);
      await reset(stack, name, points[Math.round((quarter / 4) * (points.length - 1))]);
      await ended(name);
      expect((await apply(specOf(name, 2))).state).toBe('done');
      expect(await machinesOf(name)).toEqual(machines);
      // The nodes of the group can be made again.
      expect((await apply(specOf(name, 4))).state).toBe('done');
      const again = await machinesOf(name);
      expect(again).toHaveLength(4);
      expect(again).toEqual(expect.arrayContaining([...machines]));
      await stack.client.delete(name);
      await until('all machines are deleted', async () => (await machinesOf(name)).length === 0);
    },
  );
});

describe('after the end of a group from outside', () => {
  async function lost(name: string): Promise<readonly string[]> {
    expect((await apply(specOf(name, 4))).state).toBe('done');
    const machines = await machinesOf(name);
    await stack.client.temporal.workflow.getHandle(`cluster/${name}/group/1`).terminate('test');
    const { operation } = await stack.client.operate(name, { kind: 'restart', services: ['app'] });
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
    const { operation } = await stack.client.apply(spec);
    await ledger.written(`${name} app-1 app START begin`);
    await ledger.written(`${name} app-3 app START begin`);
    const machines = await machinesOf(name);
    await stack.client.temporal.workflow.getHandle(`cluster/${name}/group/1`).terminate('test');
    await ledger.open(name);
    expect(await settled(name, operation)).toMatchObject({
      state: 'held',
      reason: expect.stringMatching(/is gone .* Run 'heddle apply FILE' to look for their machines$/),
    });
    await stack.client.retry(name);
    expect((await settled(name, operation)).state).toBe('done');
    expect(await machinesOf(name)).toEqual(machines);
  });

  it('a limited apply is refused', async () => {
    const name = 'limited';
    const machines = await lost(name);
    const { operation } = await stack.client.apply(specOf(name, 4), { nodes: ['app-1'] });
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
