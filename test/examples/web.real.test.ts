import { beforeAll, describe, expect, it } from 'vitest';
import type { Intent } from '../../src/model/plan/intent/intent.js';
import { copyExample, type Example } from '../harness/examples/example.js';
import { startLoad } from '../harness/examples/load.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';

const cluster = 'web';

/**
 * One life of one cluster: each step goes on from the one before. Machines that are directories
 * have no system of their own, and run small Node programs.
 */
describe.each(['auto', 'directory'] as const)('the web example on machines of kind %s', (kind) => {
  let stack: Stack;
  let example: Example;

  beforeAll(async () => {
    stack = await startStack({ kind });
    await stack.startWorker();
    example = await copyExample(cluster, stack.folder);
  });

  it('starts Redis, a replica, two applications and two balancers', async () => {
    await apply();
    expect(await nodes()).toEqual(['app-1', 'app-2', 'lb-1', 'lb-2', 'redis-1', 'replica-1']);
    await expectAnswersOf('app-1', 'app-2');
  });

  it('runs Redis and nginx on machines with a system of their own', async (context) => {
    const health = (await stack.service.call('GET', '/v1/health')) as { readonly kind: string };
    context.skip(health.kind !== 'sandbox', 'sandboxes need Linux, root and the right to mount');
    const { nodes: all } = await stack.client.status(cluster);
    const programs = all.flatMap(({ nodeId, payload: { store, balancer } }) => {
      const program = store ?? balancer;
      return typeof program === 'string' ? [`${nodeId} ${program}`] : [];
    });
    expect(programs.toSorted()).toEqual(['lb-1 nginx', 'lb-2 nginx', 'redis-1 redis', 'replica-1 redis']);
  });

  it('counts visits in the primary, and the replica follows it', async () => {
    const first = await visit();
    expect(await visit()).toBeGreaterThan(first);
  });

  it('answers 50 requests per second without a failure through two rolling restarts of all of it', async () => {
    const load = startLoad(await urls());
    await operate({ kind: 'restart', services: [] });
    await operate({ kind: 'restart', services: [] });
    const { answered, failures } = await load.end();
    expect(failures).toEqual([]);
    expect(answered).toBeGreaterThan(100);
  });

  it('takes a new greeting under load, node by node, and restarts its readers only', async () => {
    const load = startLoad(await urls());
    await example.edit('greeting: hello', 'greeting: welcome');
    const { plan } = await stack.client.plan(example.spec());
    const touched = [...plan.kinds, ...(plan.later ?? [])].flatMap(({ chain }) =>
      chain.filter(({ action }) => action === 'STOP').map(({ service }) => service),
    );
    expect(new Set(touched)).toEqual(new Set(['app']));
    await apply();
    expect((await load.end()).failures).toEqual([]);
    expect(await answer()).toMatch(/^welcome from app-/);
  });

  it('scales to four applications and back under load', async () => {
    const load = startLoad(await urls());
    await example.edit('app: {count: 2', 'app: {count: 4');
    await apply();
    await expectAnswersOf('app-1', 'app-2', 'app-3', 'app-4');
    await example.edit('app: {count: 4', 'app: {count: 2');
    await apply();
    await expectAnswersOf('app-1', 'app-2');
    expect((await load.end()).failures).toEqual([]);
  });

  it('leaves no machine when it is deleted', async () => {
    const { operation = '' } = await stack.client.delete(cluster);
    expect((await stack.client.waitFor(cluster, operation)).operation.state).toBe('done');
    expect(await stack.service.machines()).toEqual([]);
  });

  async function apply(): Promise<void> {
    const { operation } = await stack.client.apply(example.spec());
    await expectDone(operation);
  }

  async function operate(intent: Exclude<Intent, { kind: 'apply' | 'delete' }>): Promise<void> {
    const { operation } = await stack.client.operate(cluster, intent);
    await expectDone(operation);
  }

  async function expectDone(id: string): Promise<void> {
    const { operation, status } = await stack.client.waitFor(cluster, id);
    const failed = status.nodes.flatMap(({ nodeId, failure }) =>
      failure === undefined ? [] : [{ nodeId, ...failure }],
    );
    expect(failed).toEqual([]);
    expect(operation.state).toBe('done');
  }

  async function nodes(): Promise<readonly string[]> {
    return (await stack.client.status(cluster)).nodes.map(({ nodeId }) => nodeId).toSorted();
  }

  /** Of the balancers. */
  async function urls(): Promise<readonly string[]> {
    const { nodes: all } = await stack.client.status(cluster);
    return all
      .filter(({ services }) => services.includes('balancer'))
      .map(({ payload: { url } }) => (typeof url === 'string' ? url : ''));
  }

  async function answer(): Promise<string> {
    const [url = ''] = await urls();
    return (await fetch(url, { headers: { connection: 'close' } })).text();
  }

  async function visit(): Promise<number> {
    return Number(/^visit (\d+)$/m.exec(await answer())?.[1]);
  }

  async function expectAnswersOf(...wanted: readonly string[]): Promise<void> {
    const seen = new Set<string>();
    await until(`answers of ${wanted.join(', ')}`, async () => {
      seen.add(/ from (\S+)$/m.exec(await answer())?.[1] ?? '');
      return wanted.every((node) => seen.has(node));
    });
  }
});
