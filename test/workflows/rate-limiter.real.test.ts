import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openProxy, type ApiProxy } from '../../src/testing/proxy.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { closed } from '../harness/workflows/spec.js';

const perSecond = 2;
const workers = 2;

describe('an account with a limit of calls', () => {
  const accounts: Record<string, object> = {};
  const times: number[] = [];
  let stack: Stack;
  let proxy: ApiProxy;
  beforeAll(async () => {
    stack = await startStack({ accounts });
    proxy = await openProxy(stack.service.endpoint);
    proxy.set(() => {
      times.push(performance.now());
      return undefined;
    });
    accounts['counted'] = {
      type: 'local',
      fields: { endpoint: proxy.endpoint, apiKey: { secret: `file:${stack.service.apiKeyFile}` } },
      limits: { callsPerSecond: perSecond },
    };
    await stack.startWorker('one');
  });
  afterAll(async () => {
    await proxy.close();
    await stack.stop();
  });

  it('is never called more often, by two workers together, one of which is killed', async () => {
    const { client } = stack;
    const two = await stack.startWorker('two');
    const { operation } = await client.apply(
      closed({
        name: 'many',
        nodes: { app: { count: 10, provider: 'counted', hardware: 'small', image: 'host' } },
      }),
    );
    await until('some calls were made', () => times.length >= 8);
    await two.kill();
    expect((await client.waitFor('many', operation)).operation.state).toBe('done');
    const { operation: last = '' } = await client.delete('many');
    expect((await client.waitFor('many', last)).operation.state).toBe('done');
    // Ten machines: each created, looked at, deleted and looked for.
    expect(times.length).toBeGreaterThanOrEqual(40);
    for (const [from, begin] of times.entries()) {
      for (const [to, end] of times.entries()) {
        if (to >= from)
          expect(to - from + 1).toBeLessThanOrEqual(((end - begin) / 1_000 + 2) * perSecond + workers);
      }
    }
  });
});
