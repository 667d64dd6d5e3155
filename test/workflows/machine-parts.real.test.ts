import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import type { ApiProxy } from '../../src/testing/proxy.js';
import type { Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { startProxied } from '../harness/workflows/proxied.js';
import { closed, nodes } from '../harness/workflows/spec.js';

/** The calls that make and remove the parts of a machine of provider `example`, in their order. */
const making = [
  'POST /v1/volumes',
  'POST /v1/addresses',
  'POST /v1/machines',
  'POST /v1/volumes/*/attach',
  'POST /v1/addresses/*/attach',
];
const removing = ['DELETE /v1/machines/*', 'DELETE /v1/addresses/*', 'DELETE /v1/volumes/*'];

describe('a machine of several parts', () => {
  let stack: Stack;
  let proxy: ApiProxy;
  let started = 0;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    ({ stack, proxy, stop } = await startProxied({
      sweep: { every: '1h', minimumAge: '1ms', delete: true },
    }));
  });
  afterAll(() => stop());

  const startWorker = async (): ReturnType<Stack['startWorker']> => {
    started += 1;
    return stack.startWorker(`worker-${started}`);
  };
  const spec = (name: string): ClusterSpec =>
    closed({ name, nodes: { app: nodes(1, [], { provider: 'parts' }) } });

  /** The answer to the next call of this kind never comes, although the service has done it. */
  function holdNext(wanted: string): Promise<void> {
    return new Promise((resolve) => {
      let isHeld = false;
      proxy.set(({ method, path }) => {
        const call = `${method} ${path.replace(/\?.*/, '')}`;
        const isWanted = new RegExp(`^${wanted.replaceAll('*', '[^/]+')}$`).test(call);
        if (isHeld || !isWanted) return undefined;
        isHeld = true;
        resolve();
        return { kind: 'hold' };
      });
    });
  }

  /** How many there are of a cluster: machines, volumes and addresses. */
  async function partsOf(name: string): Promise<Readonly<Record<string, number>>> {
    const counted = ['machines', 'volumes', 'addresses'].map(async (kind) => {
      const answer = (await stack.service.call('GET', `/v1/${kind}`)) as Readonly<
        Record<string, readonly { readonly tags: Readonly<Record<string, string>> }[]>
      >;
      const own = (answer[kind] ?? []).filter(({ tags }) => tags['heddle-cluster'] === name);
      return [kind, own.length] as const;
    });
    return Object.fromEntries(await Promise.all(counted));
  }
  const whole = { machines: 1, volumes: 1, addresses: 1 };
  const nothing = { machines: 0, volumes: 0, addresses: 0 };

  it.each(making.map((call, index) => [call, `made-${index}`]))(
    'is made once, of one part each, if its worker is killed after %s',
    async (call, name) => {
      const first = await startWorker();
      const held = holdNext(call);
      const { operation } = await stack.client.apply(spec(name));
      await held;
      await first.kill();
      proxy.clear();
      const second = await startWorker();
      expect((await stack.client.waitFor(name, operation)).operation.state).toBe('done');
      expect(await partsOf(name)).toEqual(whole);

      const { operation: deletion = '' } = await stack.client.delete(name);
      expect((await stack.client.waitFor(name, deletion)).operation.state).toBe('done');
      expect(await partsOf(name)).toEqual(nothing);
      await second.stop();
    },
  );

  it.each(removing.map((call, index) => [call, `removed-${index}`]))(
    'is removed with all its parts if its worker is killed after %s',
    async (call, name) => {
      const first = await startWorker();
      const { operation } = await stack.client.apply(spec(name));
      expect((await stack.client.waitFor(name, operation)).operation.state).toBe('done');
      const held = holdNext(call);
      const { operation: deletion = '' } = await stack.client.delete(name);
      await held;
      await first.kill();
      proxy.clear();
      const second = await startWorker();
      expect((await stack.client.waitFor(name, deletion)).operation.state).toBe('done');
      expect(await partsOf(name)).toEqual(nothing);
      await second.stop();
    },
  );

  it.each(making.slice(0, 2).map((call, index) => [call, `cut-${index}`]))(
    'is deleted by the sweep if its cluster was terminated after %s',
    async (call, name) => {
      const worker = await startWorker();
      const held = holdNext(call);
      await stack.client.apply(spec(name));
      await held;
      await stack.client.temporal.workflow.getHandle(`cluster/${name}`).terminate('by hand');
      proxy.clear();
      expect(await partsOf(name)).toMatchObject({ machines: 0, volumes: 1 });
      await until('the sweep to delete its parts', async () => {
        await stack.client.sweep();
        return (await partsOf(name))['volumes'] === 0;
      });
      expect(await partsOf(name)).toEqual(nothing);
      await worker.stop();
    },
  );
});
