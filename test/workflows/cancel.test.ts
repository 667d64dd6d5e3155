import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nextSteps } from '../../src/cli/cluster/next-steps.js';
import type { WaitResult } from '../../src/client/wait.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import type { ApiProxy } from '../../src/testing/proxy.js';
import type { Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { openLedger, type Ledger } from '../harness/workflows/ledger.js';
import { startProxied } from '../harness/workflows/proxied.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const patience = { everyMs: 100 } as const;
/** Of several nodes only the first is in the workflow of the cluster. */
const scale = { inlineNodes: 1, groupNodes: 4 };

describe('a cancelled operation', () => {
  let stack: Stack;
  let ledger: Ledger;
  let proxy: ApiProxy;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    ({ stack, proxy, stop } = await startProxied({ scale }));
    ledger = openLedger(stack.folder);
    await stack.startWorker();
  });
  afterAll(() => stop());

  /** Machines of group `app` never boot; the node of `web` is whole once its gate is open. */
  async function duds(
    name: string,
    more: object = {},
    provider = 'local',
    confirmWithin = '1s',
  ): Promise<ClusterSpec> {
    await stack.service.arm({ fault: 'never-boots', count: 0, hostname: `${name}-app-*` });
    return closed({
      name,
      nodes: { app: nodes(2, [], { provider, confirmWithin }), web: nodes(1, ['web']) },
      services: { web: { actions: { install: ledger.script({ gate: name }) } } },
      ...more,
    });
  }

  const waitFor = (name: string, operation: string): Promise<WaitResult> =>
    stack.client.waitFor(name, operation, patience);

  async function applyUntilHeld(spec: ClusterSpec): Promise<string> {
    await ledger.open(spec.name);
    const { operation } = await stack.client.apply(spec);
    expect((await waitFor(spec.name, operation)).operation.state).toBe('held');
    return operation;
  }

  async function applyUntilFailed(spec: ClusterSpec): Promise<string> {
    const { operation } = await stack.client.apply(spec);
    await ledger.written(`${spec.name} web-1 web INSTALL begin`);
    await until('both nodes to fail', async () => {
      const { nodes: all } = await stack.client.status(spec.name);
      return all.filter(({ failure }) => failure?.action === 'CONFIRM').length === 2;
    });
    return operation;
  }

  async function hostnames(name: string): Promise<readonly unknown[]> {
    const machines = (await stack.service.machines()).filter(({ state }) => state !== 'deleting');
    return machines
      .map(({ hostname }) => String(hostname))
      .filter((hostname) => hostname.startsWith(`${name}-`))
      .toSorted();
  }

  async function expectOnlyWeb(name: string, { status }: WaitResult): Promise<void> {
    expect(status.nodes.map(({ nodeId }) => nodeId)).toEqual(['web-1']);
    expect(await hostnames(name)).toEqual([`${name}-web-1`]);
  }

  it.concurrent('deletes the machines of nodes that had failed before, and keeps confirmed ones', async () => {
    const operation = await applyUntilFailed(await duds('failed'));
    await stack.client.cancel('failed');
    const end = await waitFor('failed', operation);
    expect(end.operation).toMatchObject({ state: 'cancelled', reason: 'cancelled by test' });
    await expectOnlyWeb('failed', end);
  });

  it.concurrent('deletes them also while it is paused', async () => {
    const operation = await applyUntilFailed(await duds('paused'));
    await stack.client.pause('paused');
    await stack.client.cancel('paused');
    const end = await waitFor('paused', operation);
    expect(end.operation.state).toBe('cancelled');
    await expectOnlyWeb('paused', end);
  });

  it.concurrent.each([
    ['held', {}],
    ['locked', { lock: true }],
  ])('deletes them also while it is held (%s)', async (name, more) => {
    const operation = await applyUntilHeld(await duds(name, more));
    expect(await hostnames(name)).toHaveLength(3);
    await stack.client.cancel(name);
    const end = await waitFor(name, operation);
    expect(end.operation).toMatchObject({
      state: 'cancelled',
      reason: expect.stringMatching(/^cancelled by test while it was held: CONFIRM of app-\d failed/),
    });
    expect(end.status.phase).toBe('idle');
    await expectOnlyWeb(name, end);
    expect(end.status.nodes[0]?.state).toBe('ready');
  });

  it.concurrent('deletes them also before the plan of a retry', async () => {
    const operation = await applyUntilHeld(await duds('again'));
    await stack.client.retry('again');
    await stack.client.cancel('again');
    const end = await waitFor('again', operation);
    expect(end.operation.state).toBe('cancelled');
    await expectOnlyWeb('again', end);
  });

  it.concurrent('shows machines that it cannot delete as failed nodes, and the next command helps', async () => {
    const spec = await duds('stuck', {}, 'parts');
    const operation = await applyUntilHeld(spec);
    proxy.set(({ method }) =>
      method === 'DELETE' ? { kind: 'answer', status: 403, body: '{"error":"no"}' } : undefined,
    );
    await stack.client.cancel('stuck');
    const { operation: end, status } = await waitFor('stuck', operation);
    expect(end).toMatchObject({
      state: 'cancelled',
      reason: expect.stringMatching(/; DELETE of app-\d failed: .*403.* \(and 1 more node failed\)$/),
    });
    const failed = { state: 'failed', failure: { action: 'DELETE', kind: 'Auth' } };
    expect(status.phase).toBe('idle');
    expect(status.nodes.toSorted((a, b) => a.nodeId.localeCompare(b.nodeId))).toMatchObject([
      { nodeId: 'app-1', ...failed },
      { nodeId: 'app-2', ...failed },
      { nodeId: 'web-1', state: 'ready' },
    ]);
    expect(nextSteps(status, Date.now())).toMatchObject([{ command: 'heddle apply FILE' }]);
    proxy.clear();
    const { operation: next } = await stack.client.apply(
      closed({ ...spec, nodes: { web: spec.nodes['web'] } }),
    );
    const last = await waitFor('stuck', next);
    expect(last.operation.state).toBe('done');
    await expectOnlyWeb('stuck', last);
  });

  it.concurrent.each([
    ['exec', (name: string) => stack.client.operate(name, { kind: 'exec', command: 'sleep 60' })],
    [
      'apply',
      async (name: string) => stack.client.apply(await duds(name, { onFailure: 'continue' }, 'local', '1m')),
    ],
  ])('keeps a machine that an earlier operation created and went on without (%s)', async (kind, begin) => {
    const name = `earlier-${kind}`;
    await ledger.open(name);
    const { operation: created } = await stack.client.apply(await duds(name, { onFailure: 'continue' }));
    expect((await waitFor(name, created)).operation).toMatchObject({ state: 'done', missing: { count: 2 } });
    const before = await hostnames(name);
    expect(before).toHaveLength(3);
    const { operation } = await begin(name);
    await until('it works on a node', async () =>
      (await stack.client.status(name)).nodes.some(({ current }) => current?.state === 'running'),
    );
    await stack.client.cancel(name);
    const { operation: end, status } = await waitFor(name, operation);
    expect(end.state).toBe('cancelled');
    expect(status.nodes).toHaveLength(3);
    expect(await hostnames(name)).toEqual(before);
  });

  it.concurrent('keeps nodes that an earlier operation went on without, also if they have no machine', async () => {
    await stack.service.arm({ fault: 'no-capacity', hostname: 'bare-app-1', count: 0 });
    const { operation: created } = await stack.client.apply(
      closed({ name: 'bare', onFailure: 'continue', nodes: { app: nodes(1, []), web: nodes(1, []) } }),
    );
    await waitFor('bare', created);
    const { operation } = await stack.client.operate('bare', { kind: 'exec', command: 'sleep 60' });
    await until('the command runs', async () =>
      (await stack.client.status('bare')).nodes.some(({ current }) => current?.state === 'running'),
    );
    await stack.client.cancel('bare');
    const { status } = await waitFor('bare', operation);
    expect(status.nodes.map(({ nodeId }) => nodeId).toSorted()).toEqual(['app-1', 'web-1']);
  });

  it.concurrent('ends failures of its commands with it', async () => {
    const name = 'ended';
    const { operation: created } = await stack.client.apply(
      closed({ name, nodes: { app: nodes(1, []), web: nodes(1, []) } }),
    );
    await waitFor(name, created);
    const command = 'test "$HEDDLE_NODE" = app-1 && exit 1; sleep 60';
    const { operation } = await stack.client.operate(name, { kind: 'exec', command });
    await until('the command fails on one node', async () =>
      (await stack.client.status(name)).operation?.failures?.some(({ action }) => action === 'EXEC'),
    );
    await stack.client.cancel(name);
    const { operation: end, status } = await waitFor(name, operation);
    expect(end).toMatchObject({ state: 'cancelled', reason: 'cancelled by test' });
    expect(status.nodes.map(({ state }) => state)).toEqual(['ready', 'ready']);
  });

  it.concurrent('does not pass for the same apply that is requested after the cancellation', async () => {
    const name = 'anew';
    const spec = await duds(name, {}, 'parts');
    const operation = await applyUntilHeld(spec);
    await stack.client.cancel(name);
    const reply = await stack.client.apply({ ...spec }, { queue: true });
    expect(reply.operation).not.toBe(operation);
    expect(reply.unchanged).toBeUndefined();
    expect((await waitFor(name, operation)).operation.state).toBe('cancelled');
    expect((await waitFor(name, reply.operation)).operation.state).toBe('held');
  });
});

describe('an operation cancelled while its provider does not answer', () => {
  let stack: Stack;
  let proxy: ApiProxy;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    ({ stack, proxy, stop } = await startProxied({ scale }));
  });
  afterAll(() => stop());

  async function parts(): Promise<readonly unknown[]> {
    const kinds = ['machines', 'volumes', 'addresses'];
    const lists = await Promise.all(
      kinds.map(
        async (kind) =>
          ((await stack.service.call('GET', `/v1/${kind}`)) as Record<string, readonly unknown[]>)[kind] ??
          [],
      ),
    );
    return lists.flat();
  }

  it('leaves no machine and no part of one, also if its worker is killed', async () => {
    const { client } = stack;
    const first = await stack.startWorker('first');
    let held = 0;
    proxy.set(({ method, path }) => {
      if (method !== 'POST' || path !== '/v1/machines') return undefined;
      held += 1;
      return { kind: 'hold' };
    });
    const { operation } = await client.apply(
      closed({ name: 'cut', nodes: { app: nodes(2, [], { provider: 'parts' }) } }),
    );
    await until('both machines to be asked for', () => held === 2);
    await client.cancel('cut');
    await first.kill();
    proxy.clear();
    expect(await parts()).not.toEqual([]);
    await stack.startWorker('second');
    const end = await client.waitFor('cut', operation, patience);
    expect(end.operation).toMatchObject({ state: 'cancelled', reason: 'cancelled by test' });
    expect(end.status.nodes).toEqual([]);
    await until('nothing to be left', async () => (await parts()).length === 0);
  });
});
