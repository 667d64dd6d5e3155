import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { openHarness, type Harness } from '../harness/faults/harness.js';
import { askFor } from '../harness/faults/operations.js';
import { checkAtRest, checkDelete, checkWhole } from '../harness/faults/oracle.js';
import { playsInCut, playFaults, usualModes } from '../harness/faults/table.js';
import { playWebUi } from '../harness/faults/web-ui.js';

vi.setConfig({ maxConcurrency: 12 });

describe('a part of the table of faults', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await openHarness({
      temporalAddress: inject('temporalAddress'),
      workflowBundlePath: inject('workflowBundlePath'),
    });
  });
  afterAll(async () => {
    await harness.stop();
  });
  playFaults(() => harness, { modes: usualModes, plays: playsInCut });
  playWebUi(() => harness, { every: 16 });

  // A restart touches only what runs. Cancelled between STOP and START it leaves what it stopped down, nobody
  // meant that to stay so, and the same restart once more brings back what was named, but not what needs it;
  // only an apply does.
  it('a restart that was cancelled after STOP and requested again starts all services that it had stopped', async () => {
    const { client, points } = harness;
    const name = 'restart-twice';
    const restart = { operate: { kind: 'restart', services: ['db'] } } as const;
    await harness.waitFor(name, await askFor(client, name, { apply: {} }));
    points.arm({
      cluster: name,
      task: 'web-1 web STOP',
      act: {
        before: async () => {
          await client.cancel(name);
        },
      },
    });
    await harness.waitFor(name, await askFor(client, name, restart));
    expect((await harness.waitFor(name, await askFor(client, name, restart))).operation.state).toBe('done');
    checkWhole(harness, await checkAtRest(harness, name));
    await checkDelete(harness, name);
  });
});
