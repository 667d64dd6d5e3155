import { Context } from '@temporalio/activity';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { startOwnWorkers } from '../harness/own-workers.js';
import { startStack, type Stack } from '../harness/stack.js';
import { clustersOn } from '../harness/workflows/clusters-on.js';
import { closed, nodes } from '../harness/workflows/spec.js';

let stack: Stack;
let stopWorkers: () => Promise<void>;
const { settled } = clustersOn(() => stack);
let plans = 0;

beforeAll(async () => {
  const temporalAddress = inject('temporalAddress');
  stack = await startStack({ temporalAddress, distPath: inject('distPath') });
  stopWorkers = await startOwnWorkers(stack, temporalAddress, (options) => {
    const plan = async (): Promise<unknown> => {
      plans += 1;
      return Context.current().cancelled;
    };
    return { ...options, activities: { ...options.activities, PLAN: plan } };
  });
});
afterAll(async () => {
  await stopWorkers();
  await stack.stop();
});

const spec = (name: string) => closed({ name, nodes: { app: nodes(1, []) } });

it('a cancellation does not wait for a plan that does not come', async () => {
  const name = 'cancelled';
  const { operation } = await stack.client.apply(spec(name));
  await expect.poll(() => plans).toBe(1);
  await stack.client.cancel(name, operation);
  expect((await settled(name, operation)).state).toBe('cancelled');
});

it('nor does a delete', async () => {
  const name = 'deleted';
  const { operation } = await stack.client.apply(spec(name));
  await expect.poll(() => plans).toBe(2);
  await stack.client.delete(name);
  expect((await settled(name, operation)).state).toBe('superseded');
});
