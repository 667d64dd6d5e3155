import { expect, inject, it } from 'vitest';
import { startOwnWorkers } from '../harness/own-workers.js';
import { startStack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';

it('an embedding program runs the workers of Heddle beside its own activities', async () => {
  const temporalAddress = inject('temporalAddress');
  const stack = await startStack({ temporalAddress, distPath: inject('distPath') });
  const stop = await startOwnWorkers(stack, temporalAddress, (options) => ({
    ...options,
    activities: { ...options.activities, GREET: () => 'hello' },
  }));
  try {
    const { operation } = await stack.client.apply(
      closed({ name: 'own', nodes: { app: nodes(1, []) }, services: {} }),
    );
    expect((await stack.client.waitFor('own', operation)).operation.state).toBe('done');
  } finally {
    await stop();
    await stack.stop();
  }
});
