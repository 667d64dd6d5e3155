import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openProxy, type ApiProxy } from '../../src/testing/proxy.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { closed, nodes } from '../harness/workflows/spec.js';

/** The calls that make a machine of provider `assembled`, in their order. */
const making = [
  'POST /v1/volumes',
  'POST /v1/addresses',
  'POST /v1/machines',
  'POST /v1/volumes/*/attach',
  'POST /v1/addresses/*/attach',
] as const;

interface Extra {
  readonly id: string;
  readonly machine?: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** @param accounts of provider `assembled`, to be added before a worker starts */
function startWithPlugins(accounts: Record<string, object>): Promise<Stack> {
  return startStack({ accounts, config: { plugins: [join(import.meta.dirname, '../harness/plugins')] } });
}

// A cluster for each call, each with an account of its own: all of them are stopped after their call when the
// one worker dies.
describe('a machine of several parts at an API without client tokens', () => {
  let stack: Stack;
  const proxies: Record<string, ApiProxy> = {};
  const operations: Record<string, string> = {};
  /** Machines that the first worker made. */
  const before: Record<string, number> = {};
  const clusters = [
    ...making.map((call, index) => ({ call, name: `recorded-${index}`, records: true, made: 1 })),
    // Without a record only a machine that is complete is kept.
    { call: making[2], name: 'unrecorded-2', records: false, made: 2 },
    { call: making[3], name: 'unrecorded-3', records: false, made: 2 },
    { call: making[4], name: 'unrecorded-4', records: false, made: 1 },
  ];

  beforeAll(async () => {
    const accounts: Record<string, object> = {};
    stack = await startWithPlugins(accounts);
    const apiKey = { secret: `file:${stack.service.apiKeyFile}` };
    for (const { name, records } of clusters) {
      const proxy = await openProxy(stack.service.endpoint);
      proxies[name] = proxy;
      accounts[name] = { type: 'assembled', fields: { endpoint: proxy.endpoint, apiKey, records } };
    }
    const first = await stack.startWorker('first');
    const held = clusters.map(({ call, name }) => holdAt(name, call));
    await Promise.all(clusters.map(({ name }) => begin(name)));
    await Promise.all(held);
    await first.kill();
    for (const { name } of clusters) before[name] = await creations(name);
    for (const proxy of Object.values(proxies)) proxy.clear();
    await stack.startWorker('second');
  });
  afterAll(async () => {
    for (const proxy of Object.values(proxies)) await proxy.close();
    await stack.stop();
  });

  async function begin(name: string): Promise<void> {
    const spec = closed({ name, nodes: { app: nodes(1, [], { provider: name }) } });
    operations[name] = (await stack.client.apply(spec)).operation;
  }

  /** The service carries out the call, and its answer never comes. */
  function holdAt(name: string, wanted: string): Promise<void> {
    const pattern = new RegExp(`^${wanted.replaceAll('*', '[^/]+')}$`);
    return new Promise((resolve) => {
      proxies[name]?.set(({ method, path }) => {
        if (!pattern.test(`${method} ${path}`)) return undefined;
        resolve();
        return { kind: 'hold' };
      });
    });
  }

  async function extrasOf(kind: 'volumes' | 'addresses', name: string): Promise<readonly Extra[]> {
    const answer = (await stack.service.call('GET', `/v1/${kind}`)) as Readonly<
      Record<string, readonly Extra[]>
    >;
    return (answer[kind] ?? []).filter(({ tags }) => tags['heddle-cluster'] === name);
  }

  /** How many machines were made for the cluster, as the service's journal has them. */
  async function creations(name: string): Promise<number> {
    return (await stack.service.journal('create')).filter(({ hostname }) => hostname === `${name}-app-1`)
      .length;
  }

  it.concurrent.each(clusters)(
    'is complete, of one part each, if its worker is killed after $call ($name)',
    async ({ name, made, records }) => {
      const { operation } = await stack.client.waitFor(name, operations[name] ?? '', { everyMs: 100 });
      expect(operation.state).toBe('done');
      const machines = (await stack.service.machines()).filter(
        ({ hostname, state }) => hostname === `${name}-app-1` && state !== 'deleting',
      );
      const attached = [{ machine: machines[0]?.['id'] }];
      expect(machines).toHaveLength(1);
      expect(await extrasOf('volumes', name)).toMatchObject(attached);
      expect(await extrasOf('addresses', name)).toMatchObject(attached);
      expect(await stack.client.payload(name, 'app-1')).toMatchObject({
        providerid: machines[0]?.['id'],
        volume: (await extrasOf('volumes', name))[0]?.id,
        address: (await extrasOf('addresses', name))[0]?.id,
      });
      // An attempt whose held call ran into its time limit before the kill has made one more,
      // unless it was recorded.
      const more = records ? 0 : (before[name] ?? 0) - 1;
      expect((await creations(name)) - more).toBe(made);

      const { operation: deletion = '' } = await stack.client.delete(name);
      expect((await stack.client.waitFor(name, deletion)).operation).toMatchObject({ state: 'done' });
      await until('the machines to be gone', async () =>
        (await stack.service.machines()).every(({ hostname }) => hostname !== `${name}-app-1`),
      );
      expect([await extrasOf('volumes', name), await extrasOf('addresses', name)]).toEqual([[], []]);
    },
  );
});

// Its program stays ready for the next call.
describe('the steps of a machine at a provider of a plugin program', () => {
  const clusters = ['one', 'two', 'three'];
  let stack: Stack;
  beforeAll(async () => {
    const accounts: Record<string, object> = {};
    stack = await startWithPlugins(accounts);
    const apiKey = { secret: `file:${stack.service.apiKeyFile}` };
    accounts['cloud'] = {
      type: 'assembled',
      fields: { endpoint: stack.service.endpoint, apiKey, records: true },
    };
  });

  it('each is recorded in the task of its own call, call after call', async () => {
    const worker = await stack.startWorker();
    for (const name of clusters) {
      const { operation } = await stack.client.apply(
        closed({ name, nodes: { app: nodes(1, [], { provider: 'cloud' }) } }),
      );
      const ended = await stack.client.waitFor(name, operation, { everyMs: 100 });
      expect(ended.operation.state).toBe('done');
    }
    const failures = worker
      .output()
      .split('\n')
      .filter((line) => line.includes('CREATE') && /"level":"(warn|error)"/.test(line));
    expect(failures).toEqual([]);
    for (const name of clusters)
      expect((await stack.service.journal('create')).map(({ hostname }) => hostname)).toContain(
        `${name}-app-1`,
      );
  });
});
