import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { until } from '../harness/until.js';
import { startProxied, type Proxied } from '../harness/workflows/proxied.js';
import { closed, nodes } from '../harness/workflows/spec.js';

let proxied: Proxied;
beforeAll(async () => {
  proxied = await startProxied();
  await proxied.stack.startWorker();
});
afterAll(() => proxied.stop());

it('a machine that is being confirmed gets the time of the file that was applied last', async () => {
  const { proxy, stack } = proxied;
  const { client, service } = stack;
  const name = 'patient';
  const spec = (confirmWithin: string): ClusterSpec =>
    closed({ name, nodes: { app: nodes(1, [], { provider: 'parts', confirmWithin }) } });
  let asked = 0;
  proxy.set(({ method, path }) => {
    if (method !== 'GET' || !path.startsWith('/v1/machines/')) return undefined;
    asked += 1;
    return { kind: 'answer', status: 503, body: '{"error":"later"}' };
  });
  const first = await client.apply(spec('1s'));
  const held = await client.waitFor(name, first.operation, { everyMs: 100 });
  expect(held.operation.state).toBe('held');
  const machines = (await service.machines()).map(({ id }) => id);
  const { operation } = await client.apply(spec('5m'));
  // Within a second it is asked for four times.
  const before = asked;
  await until('it is asked for longer than a second', () => asked > before + 5);
  proxy.clear();
  expect((await client.waitFor(name, operation, { everyMs: 100 })).operation.state).toBe('done');
  expect((await service.machines()).map(({ id }) => id)).toEqual(machines);
});
