import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const patience = { everyMs: 100 } as const;

describe('machines with faults', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ accounts: { spare: 'service' } });
    await stack.startWorker();
  });

  const bare = (name: string, group: object = {}, count = 1): ClusterSpec =>
    closed({ name, nodes: { app: nodes(count, [], group) } });

  /** Arms a fault for the machines of one cluster. */
  const arm = (name: string, fault: object): Promise<string> =>
    stack.service.arm({ hostname: `${name}-*`, ...fault });

  async function create(name: string, group: object = {}) {
    const { operation } = await stack.client.apply(bare(name, group));
    return stack.client.waitFor(name, operation, patience);
  }

  async function made(name: string): Promise<readonly unknown[]> {
    const created = (await stack.service.journal('create')).filter(
      ({ hostname, repeated }) => String(hostname).startsWith(`${name}-`) && repeated !== true,
    );
    return created.map(({ key }) => key);
  }

  async function left(name: string): Promise<number> {
    return (await stack.service.machines()).filter(({ hostname }) => String(hostname).startsWith(`${name}-`))
      .length;
  }

  async function deleteAll(name: string): Promise<void> {
    const { operation = '' } = await stack.client.delete(name);
    expect((await stack.client.waitFor(name, operation, patience)).operation).toMatchObject({
      state: 'done',
      tasks: { failed: 0 },
    });
    expect(await left(name)).toBe(0);
  }

  it.concurrent('is deleted and replaced by a new incarnation if it never boots', async () => {
    await arm('dud', { fault: 'never-boots' });
    const { operation, status } = await create('dud', { confirmWithin: '2s' });
    expect(operation).toMatchObject({ state: 'done', tasks: { failed: 1 } });
    expect(operation.tasks.done).toBe(operation.tasks.total);
    expect(status.nodes).toMatchObject([{ nodeId: 'app-1', incarnation: 2, state: 'ready' }]);
    expect(await made('dud')).toEqual([`${status.uid}/app-1/1`, `${status.uid}/app-1/2`]);
    expect(await left('dud')).toBe(1);
    await deleteAll('dud');
  });

  it.concurrent('holds the operation with the reason after three that never boot, and delete leaves nothing', async () => {
    await arm('duds', { fault: 'never-boots', count: 0 });
    const { operation, status } = await create('duds', { confirmWithin: '1s' });
    expect(operation.state).toBe('held');
    expect(operation.reason).toMatch(/^CONFIRM of app-1 failed: .*(time limit|is booting|timed out)/);
    expect(status.nodes).toMatchObject([{ incarnation: 3, state: 'failed', failure: { action: 'CONFIRM' } }]);
    expect(await made('duds')).toHaveLength(3);
    expect(await left('duds')).toBe(1);
    await deleteAll('duds');
  });

  it.concurrent('is replaced with a reason if its SSH server hangs', async () => {
    await arm('mute', { fault: 'no-ssh', count: 0 });
    const { operation } = await create('mute', { confirmWithin: '6s' });
    expect(operation.reason).toMatch(
      /^CONFIRM of app-1 failed: .*timed out; last step: .*SSH to 127\.\d+\.\d+\.\d+:\d+$/,
    );
    await deleteAll('mute');
  });

  it.concurrent('is replaced at once if it dies while it boots', async () => {
    await arm('mortal', { fault: 'dies', ms: 0 });
    const { operation, status } = await create('mortal');
    expect(operation.state).toBe('done');
    expect(status.nodes).toMatchObject([{ incarnation: 2, state: 'ready' }]);
    await deleteAll('mortal');
  });

  it.concurrent('comes from the alternative if the first choice has no capacity', async () => {
    await arm('scarce', { fault: 'no-capacity' });
    const { operation, status } = await create('scarce', {
      alternatives: [{ provider: 'spare', hardware: 'medium' }],
    });
    expect(operation.state).toBe('done');
    expect(status.nodes).toMatchObject([{ provider: 'spare', payload: { flavor: 'medium' } }]);
    const again = await create('scarce', { alternatives: [{ provider: 'spare', hardware: 'medium' }] });
    expect(again.operation).toMatchObject({ state: 'done', unchanged: true });
    await deleteAll('scarce');
  });

  it.concurrent('is created once if the answer is lost', async () => {
    await arm('lost', { fault: 'lose-answer', operation: 'create' });
    const { operation, status } = await create('lost');
    expect(operation).toMatchObject({ state: 'done', tasks: { failed: 0 } });
    expect(await made('lost')).toEqual([`${status.uid}/app-1/1`]);
    await deleteAll('lost');
  });

  it.concurrent.each([
    ['500', { status: 500 }],
    ['503', { status: 503 }],
    ['429 that says when to come again', { status: 429, retryAfterSeconds: 0.2 }],
  ])('retries CREATE, CONFIRM and DELETE after %s', async (_what, fault) => {
    const name = `http-${fault.status}`;
    await arm(name, { fault: 'http', operation: 'create', ...fault });
    await arm(name, { fault: 'http', operation: 'describe', ...fault });
    const { operation, status } = await create(name);
    expect(operation).toMatchObject({ state: 'done', tasks: { failed: 0 } });
    expect(status.nodes).toMatchObject([{ incarnation: 1 }]);
    await arm(name, { fault: 'http', operation: 'delete', ...fault });
    await deleteAll(name);
  });

  it.concurrent('waits as long as Retry-After says', async () => {
    await arm('later', { fault: 'http', operation: 'create', status: 429, retryAfterSeconds: 3 });
    const asked = Date.now();
    await create('later');
    const [created] = (await stack.service.journal('create')).filter(
      ({ hostname }) => hostname === 'later-app-1',
    );
    // A retry without it comes after a second.
    expect(Date.parse(String(created?.['at'])) - asked).toBeGreaterThanOrEqual(3_000);
    await deleteAll('later');
  });

  it.concurrent('has the login of CONFIRM merged into that of CREATE', async () => {
    await create('merged');
    const payload = await stack.client.payload('merged', 'app-1');
    const created = (await stack.client.status('merged')).nodes[0]?.providerid;
    expect(payload).toMatchObject({
      providerid: created,
      'ssh-auth': { user: expect.any(String), password: expect.any(String) },
    });
    expect((await stack.client.status('merged')).nodes[0]?.payload['ssh-auth']).toMatchObject({
      password: '(secret)',
    });
    await deleteAll('merged');
  });

  it.concurrent('is deleted once it is known, by a delete during CREATE', async () => {
    const held = await arm('preempt', { fault: 'hold-answer', operation: 'create' });
    const { operation: creation } = await stack.client.apply(bare('preempt'));
    await until('CREATE is accepted', async () => (await stack.service.held(held)) === 1);
    const { operation = '' } = await stack.client.delete('preempt');
    await pause(500);
    expect((await stack.client.status('preempt')).operation).toMatchObject({
      id: creation,
      state: 'running',
    });
    await stack.service.release(held);
    const { status } = await stack.client.waitFor('preempt', operation, patience);
    expect(status.history.map(({ id, kind, state }) => [id, kind, state])).toEqual([
      [operation, 'delete', 'done'],
      [creation, 'apply', 'superseded'],
    ]);
    expect(await made('preempt')).toHaveLength(1);
    expect(await left('preempt')).toBe(0);
  });

  it.concurrent('is awaited by a delete, also while another node is between two attempts', async () => {
    // The call is on its way and not accepted: what it makes can only be found afterwards.
    await stack.service.arm({ fault: 'latency', ms: 4_000, operation: 'create', hostname: 'pair-app-2' });
    const none = await stack.service.arm({ fault: 'no-capacity', hostname: 'pair-app-1', count: 0 });
    await stack.client.apply(bare('pair', {}, 2));
    await until('app-1 waits for its third try', async () => {
      const faults = (await stack.service.call('GET', '/v1/faults')) as {
        faults: readonly { id: string; met: number }[];
      };
      return faults.faults.some(({ id, met }) => id === none && met === 2);
    });
    const { operation = '' } = await stack.client.delete('pair');
    await stack.client.waitFor('pair', operation, patience);
    expect(await made('pair')).toHaveLength(1);
    expect(await left('pair')).toBe(0);
  });
});
