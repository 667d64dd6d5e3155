import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { startOwnWorkers } from '../harness/own-workers.js';
import { startStack, type Stack } from '../harness/stack.js';
import { clustersOn } from '../harness/workflows/clusters-on.js';
import { closed, nodes } from '../harness/workflows/spec.js';

let stack: Stack;
let stopWorkers: () => Promise<void>;
let breaks = false;
const { settled } = clustersOn(() => stack);

beforeAll(async () => {
  const temporalAddress = inject('temporalAddress');
  stack = await startStack({ temporalAddress, distPath: inject('distPath') });
  stopWorkers = await startOwnWorkers(stack, temporalAddress, (options) => {
    const { PLAN, ...others } = options.activities as Readonly<
      Record<string, (...args: unknown[]) => Promise<unknown>>
    >;
    const plan = async (...args: unknown[]): Promise<unknown> => {
      if (breaks) throw ApplicationFailure.nonRetryable('planning is broken');
      return PLAN?.(...args);
    };
    return { ...options, activities: { ...others, PLAN: plan } };
  });
});
afterAll(async () => {
  await stopWorkers();
  await stack.stop();
});

it('a scale that was never planned leaves no count', async () => {
  const spec = closed({ name: 'kept', nodes: { app: nodes(1, []) } });
  const first = await stack.client.apply(spec);
  expect((await settled('kept', first.operation)).state).toBe('done');
  breaks = true;
  const scale = await stack.client.operate('kept', { kind: 'scale', counts: { app: 3 } });
  expect((await settled('kept', scale.operation)).state).toBe('held');
  expect((await stack.client.status('kept')).scaled).toBeUndefined();
  await stack.client.cancel('kept', scale.operation);
  breaks = false;
  const again = await stack.client.apply(spec);
  expect((await settled('kept', again.operation)).state).toBe('done');
  expect(await stack.service.machines()).toHaveLength(1);
});

it('an apply that was never planned does not answer for one with another limit', async () => {
  const spec = (count: number) => closed({ name: 'limit', nodes: { app: nodes(count, []) } });
  const first = await stack.client.apply(spec(2));
  expect((await settled('limit', first.operation)).state).toBe('done');
  breaks = true;
  const limited = await stack.client.apply(spec(1), { consent: { losable: {} } });
  expect((await settled('limit', limited.operation)).state).toBe('held');
  breaks = false;
  const unlimited = await stack.client.apply(spec(1));
  expect((await settled('limit', unlimited.operation)).state).toBe('done');
  expect((await stack.client.status('limit')).history[0]?.intent).toEqual({ kind: 'apply' });
});
