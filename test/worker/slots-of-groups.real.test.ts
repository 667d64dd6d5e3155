import { expect, inject, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { startOwnWorkers } from '../harness/own-workers.js';
import { startStack } from '../harness/stack.js';
import { openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const slots = 3;

it('a small cluster is created while scripts of a large one hold all slots that groups have', async () => {
  const temporalAddress = inject('temporalAddress');
  const stack = await startStack({ temporalAddress, distPath: inject('distPath') });
  const ledger = openLedger(stack.folder);
  const stop = await startOwnWorkers(
    stack,
    temporalAddress,
    (options) => ({ ...options, maxConcurrentActivityTaskExecutions: slots }),
    { scale: { inlineNodes: 1, groupNodes: 10, inFlight: 10 } },
  );
  const cluster = (name: string, count: number, install: object): ClusterSpec =>
    closed({ name, nodes: { app: nodes(count, ['app']) }, services: { app: { actions: { install } } } });
  try {
    const large = await stack.client.apply(cluster('large', 6, ledger.script({ gate: 'large' })));
    const begun = async (): Promise<number> => (await ledger.lines('large ')).length;
    // One node is the cluster's own.
    await expect.poll(begun, { timeout: 60_000 }).toBe(1 + slots);
    const small = await stack.client.apply(cluster('small', 1, ledger.script()));
    expect((await stack.client.waitFor('small', small.operation)).operation.state).toBe('done');
    expect(await begun()).toBe(1 + slots);
    await ledger.open('large');
    expect((await stack.client.waitFor('large', large.operation)).operation.state).toBe('done');
  } finally {
    // Scripts outlive their workers, and would wait for ever.
    await ledger.open('large');
    await stop();
    await stack.stop();
  }
});
