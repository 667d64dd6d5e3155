import { afterAll, beforeAll, describe, inject, it, vi } from 'vitest';
import { openHarness, type Harness } from './support/harness.js';
import { modes, play, type Mode } from './support/modes.js';
import { operationCases } from './support/operations.js';

vi.setConfig({ maxConcurrency: 24 });

describe('the sweep', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await openHarness({ temporalAddress: inject('temporalAddress'), workflowBundlePath: inject('workflowBundlePath') });
  });
  afterAll(async () => {
    await harness.stop();
  });
  const wanted: readonly Mode[] = modes.filter((mode) => mode !== 'ends its run');
  describe.each(operationCases)('$name', (operation) => {
    describe.each(wanted)('%s', (mode) => {
      it.concurrent.each(operation.tasks)('at %s', async (task) => {
        const name = `${operation.name}-${modes.indexOf(mode)}-${operation.tasks.indexOf(task)}`;
        await play(harness, { name, operation, task, mode });
      });
    });
  });
});
