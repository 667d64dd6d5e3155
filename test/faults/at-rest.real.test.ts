import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { until } from '../harness/until.js';
import { openHarness, type Harness } from '../harness/faults/harness.js';
import { askFor } from '../harness/faults/operations.js';
import { checkAtRest, checkDelete, checkWhole } from '../harness/faults/oracle.js';

describe('a history that has become long', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await openHarness({
      temporalAddress: inject('temporalAddress'),
      workflowBundlePath: inject('workflowBundlePath'),
      limits: { inlineNodes: 40, groupNodes: 60 },
    });
  });
  afterAll(async () => {
    await harness.stop();
  });

  it.each([
    ['a cluster', 'long', 30, 'cluster/long'],
    ['a group of nodes', 'wide', 90, 'cluster/wide/group/1'],
  ])('of %s at rest continues in a new run with the same state', async (_, name, web, workflow) => {
    const { client, cloud } = harness;
    const runs = async (): Promise<readonly number[]> => {
      const lengths: number[] = [];
      for await (const { historyLength = 0 } of client.temporal.workflow.list({
        query: `WorkflowId = '${workflow}'`,
      }))
        lengths.push(historyLength);
      return lengths;
    };
    const created = await askFor(client, name, { apply: { web } });
    expect((await harness.waitFor(name, created)).operation.state).toBe('done');
    await until('another run', async () => (await runs()).length === 2);

    expect(Math.min(...(await runs()))).toBeLessThan(50);
    expect(Math.max(...(await runs()))).toBeGreaterThan(500);
    expect((await client.status(name)).history.map(({ id }) => id)).toEqual([created]);
    const restarted = await askFor(client, name, { operate: { kind: 'restart', services: ['db'] } });
    expect((await harness.waitFor(name, restarted)).operation.state).toBe('done');
    expect(cloud.machines(name)).toHaveLength(web + 1);
    expect(await runs()).toHaveLength(2);
    checkWhole(harness, await checkAtRest(harness, name));
    await checkDelete(harness, name);
  });
});
