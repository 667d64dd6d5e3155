import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, inject } from 'vitest';
import { reservationsWorkflowId } from '../../src/model/names.js';
import { openKeyRing } from '../../src/secrets/keys.js';
import { startParents } from '../harness/docs/parents.js';
import { inStudio } from '../harness/histories/studio.js';
import { openGround } from '../harness/machine/ground.js';
import { until } from '../harness/until.js';
import { startReceiver } from '../harness/webhook-receiver.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const secret = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;

// As histories.record.ts.
it('records clusters and reservations with webhooks, a delivery, and a cluster with a parent', async () => {
  const receiver = await startReceiver(secret);
  const folder = await mkdtemp(join(tmpdir(), 'heddle-events-'));
  await writeFile(join(folder, 'secret'), secret, { mode: 0o600 });
  const webhooks = { ops: { url: receiver.url, secret: { secret: `file:${join(folder, 'secret')}` } } };
  try {
    await inStudio({ kind: 'sandbox', config: { webhooks } }, async ({ stack, keep, done }) => {
      const { client, namespace } = stack;
      const spec = closed({
        name: 'events',
        nodes: { app: nodes(1, ['app']) },
        services: { app: { actions: { install: { type: 'shell', fields: { script: 'exit 3' } } } } },
      });
      const { operation } = await client.apply(spec);
      expect(await done('events', operation)).toBe('held');
      expect(await done('events', (await client.delete('events')).operation)).toBe('done');
      await keep('events', 'cluster/events');
      await until('the delivery has ended', () => receiver.received.length === 5);
      const held = receiver.received.find(({ type }) => type === 'operation.held');
      await keep('delivery', `delivery/${held?.id}/operation.held/ops`);

      const keys = openKeyRing({ folder: join(stack.folder, 'keys'), create: false });
      const parents = await startParents(inject('temporalAddress'), namespace, keys);
      const parent = await client.temporal.workflow.start('createAndDelete', {
        taskQueue: parents.taskQueue,
        workflowId: 'parent',
        args: [{ ...spec, name: 'child' }],
      });
      await parent.result();
      await keep('child', 'cluster/child');
      await parents.stop();

      await openGround(stack).add('one');
      const { id } = await client.reservations.create({
        image: 'host',
        user: 'ada',
        machines: ['one'],
        for: '1h',
      });
      await client.reservations.waitUntil(id, ({ state }) => state === 'ready', { everyMs: 100 });
      await until('the reservation is reported', () =>
        receiver.received.some(({ type, isSigned }) => type === 'reservation.ready' && isSigned),
      );
      await keep('reservations-with-webhooks', reservationsWorkflowId);
    });
  } finally {
    await receiver.close();
    await rm(folder, { recursive: true, force: true });
  }
});
