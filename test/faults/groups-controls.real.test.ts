import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { until } from '../harness/until.js';
import { openHarness, type Harness } from '../harness/faults/harness.js';
import { askFor } from '../harness/faults/operations.js';
import { checkAtRest, checkDelete, checkWhole } from '../harness/faults/oracle.js';

/** `db` is carried by the cluster's workflow, `web` by a group's. */
describe('controls reach the groups of a cluster', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await openHarness({
      temporalAddress: inject('temporalAddress'),
      workflowBundlePath: inject('workflowBundlePath'),
      limits: { inlineNodes: 1, groupNodes: 2 },
    });
  });
  afterAll(async () => {
    await harness.stop();
  });

  it.concurrent('pause: a node of a group starts nothing until resume', async () => {
    const { client, points } = harness;
    const name = 'paused';
    points.arm({
      cluster: name,
      task: 'web-1 web INSTALL',
      act: {
        before: async () => {
          await client.pause(name);
        },
      },
    });
    const id = await askFor(client, name, { apply: {} });
    await until('paused', () => points.isMet(name));
    await points.silence(name);
    // Whatever the group had heard by then, it has heard of the pause when a task it was told of is over.
    expect(points.seen(name)).not.toContain('web-1 web START');
    expect((await client.status(name)).phase).toBe('paused');
    await client.resume(name);
    expect((await harness.waitFor(name, id)).operation.state).toBe('done');
    checkWhole(harness, await checkAtRest(harness, name));
    await checkDelete(harness, name);
  });

  it.concurrent('replace: a node of a group gets another machine, also while an operation is held', async () => {
    const { client, points, cloud } = harness;
    const name = 'replaced';
    expect((await harness.waitFor(name, await askFor(client, name, { apply: {} }))).operation.state).toBe(
      'done',
    );
    const before = cloud.machines(name).map(({ id }) => id);
    const id = await askFor(client, name, { operate: { kind: 'replace', nodes: ['web-1'] } });
    expect((await harness.waitFor(name, id)).operation.state).toBe('done');
    expect(cloud.machines(name).filter((machine) => before.includes(machine.id))).toHaveLength(1);
    cloud.breakScript(name, 'web-1 web CONFIGURE');
    const held = await harness.waitFor(name, await askFor(client, name, { apply: { config: 1 } }));
    expect(held.operation.state).toBe('held');
    cloud.mend(name);
    const made = cloud.made(name).length;
    const again = await askFor(client, name, { operate: { kind: 'replace', nodes: ['web-1'] } });
    expect((await harness.waitFor(name, again)).operation.state).toBe('done');
    expect(cloud.made(name)).toHaveLength(made + 1);
    await expect(client.operate(name, { kind: 'replace', nodes: ['web-9'] })).rejects.toThrow(
      `cluster ${name} has no node web-9`,
    );
    expect(points.seen(name)).toContain('web-1 - DELETE');
    checkWhole(harness, await checkAtRest(harness, name, { anyOrder: true }));
    await checkDelete(harness, name, { anyOrder: true });
  });
});
