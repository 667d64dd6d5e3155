import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { expect, inject, it } from 'vitest';
import { PoolClient } from '../../src/client/pool/pool-client.js';
import { poolWorkflowId } from '../../src/model/names.js';
import type { PoolSpec } from '../../src/model/pool/spec.js';
import { heddleSearchAttributes } from '../../src/server/setup.js';
import { startServer } from '../../src/server/start.js';
import { startNode } from '../harness/ssh-server.js';
import type { Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import type { Ledger } from '../harness/workflows/ledger.js';
import { host, openGround } from '../harness/machine/ground.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { inStudio, type Studio } from '../harness/histories/studio.js';

// Records the histories that replay.test.ts replays; docs/developers/testing.md says when and how. Not part of any other
// run.

function webSpec(ledger: Ledger, count: number) {
  const actions = {
    install: ledger.script(),
    start: ledger.script(),
    stop: ledger.script(),
    remove: ledger.script(),
  };
  return closed({
    name: 'web',
    nodes: { app: nodes(count, ['app']), lb: nodes(1, ['lb']) },
    services: {
      app: { peers: 'none', actions },
      lb: { requires: ['app'], actions: { configure: ledger.script(), start: ledger.script() } },
    },
  });
}

it('records create, scale up, scale down, plan, delete and a revision', () =>
  inStudio({}, async ({ stack, ledger, keep, done }) => {
    const { client } = stack;
    for (const [name, count] of [
      ['create', 1],
      ['scale-up', 2],
      ['scale-down', 1],
    ] as const) {
      expect(await done('web', (await client.apply(webSpec(ledger, count))).operation)).toBe('done');
      await keep(name, 'cluster/web');
    }
    await client.plan(webSpec(ledger, 3));
    const [plan] = await until('the plan is listed', async () => {
      const found = await listed(stack, "WorkflowType = 'plan'");
      return found.length > 0 && found;
    });
    await keep('plan', plan?.workflowId ?? '');
    const [newest] = await client.revisions('web');
    expect(await done('web', (await client.delete('web')).operation)).toBe('done');
    await keep('delete', 'cluster/web');
    await keep('revision', newest?.workflowId ?? '');
  }));

it('records a failure that was retried, and a delete that preempts a create', () =>
  inStudio({}, async ({ stack, ledger, keep, done }) => {
    const { client, service } = stack;
    const install = ledger.script({ body: 'test -e "$LEDGER.mended" || exit 3' });
    const { operation } = await client.apply(
      closed({
        name: 'failed',
        nodes: { app: nodes(1, ['app']) },
        services: { app: { actions: { install } } },
      }),
    );
    expect(await done('failed', operation)).toBe('held');
    await writeFile(join(stack.folder, 'ledger.mended'), '');
    await client.retry('failed');
    expect(await done('failed', operation)).toBe('done');
    await keep('failed-and-retried', 'cluster/failed');

    const held = await service.arm({ fault: 'hold-answer', operation: 'create', hostname: 'gone-*' });
    await client.apply(closed({ name: 'gone', nodes: { app: nodes(1, []) } }));
    await until('CREATE is held', async () => (await service.held(held)) === 1);
    const deletion = await client.delete('gone');
    await service.release(held);
    expect(await done('gone', deletion.operation)).toBe('done');
    await keep('delete-preempts-create', 'cluster/gone');
  }));

it('records each operation on a living cluster', () =>
  inStudio({}, async ({ stack, ledger, keep, done }) => {
    const { client } = stack;
    const service = (): object => ({
      install: ledger.script(),
      configure: ledger.script(),
      start: ledger.script(),
      stop: ledger.script(),
    });
    const spec = (config: object, body = ':') =>
      closed({
        name: 'ops',
        config,
        nodes: { db: nodes(1, ['db']), app: nodes(2, ['app']) },
        services: {
          db: { actions: service() },
          app: {
            runtime: { requires: ['db'] },
            actions: { ...service(), configure: ledger.script({ body }) },
          },
        },
      });
    expect(await done('ops', (await client.apply(spec({}))).operation)).toBe('done');
    const intents = [
      { kind: 'stop', services: ['db'] },
      { kind: 'start', services: ['app'] },
      { kind: 'restart', services: ['app'], width: 1 },
      { kind: 'reconfigure', services: [], restart: true },
      { kind: 'replace', nodes: ['app-2'] },
      { kind: 'exec', command: 'true' },
      { kind: 'scale', counts: { app: 3 } },
    ] as const;
    for (const intent of intents) {
      expect(await done('ops', (await client.operate('ops', intent)).operation)).toBe('done');
      await keep(intent.kind, 'cluster/ops');
    }
    expect(await done('ops', (await client.apply(spec({ wrong: true }, 'exit 3'))).operation)).toBe('held');
    expect(await done('ops', (await client.operate('ops', { kind: 'rollback' })).operation)).toBe('done');
    await keep('rolled-back', 'cluster/ops');
    expect(await done('ops', (await client.apply(spec({ right: true }))).operation)).toBe('done');
    const toFirst = { kind: 'rollback', revision: 1 } as const;
    expect(await done('ops', (await client.operate('ops', toFirst)).operation)).toBe('done');
    await keep('rolled-back-to-revision', 'cluster/ops');
    const gated = closed({
      ...{ name: 'halt', nodes: { app: nodes(1, ['app']) } },
      services: { app: { actions: { start: ledger.script({ gate: 'halt' }) } } },
    });
    const { operation } = await client.apply(gated);
    await ledger.written('halt app-1 app START begin');
    await client.pause('halt');
    await client.operate('halt', { kind: 'exec', command: 'true' }, { queue: true });
    await client.resume('halt');
    await client.cancel('halt', operation);
    expect(await done('halt', operation)).toBe('cancelled');
    expect(await done('halt', '2')).toBe('done');
    await keep('paused-and-cancelled', 'cluster/halt');
  }));

it('records a cluster whose previous run was terminated', () =>
  inStudio({}, async ({ stack, ledger, keep, done }) => {
    const { client } = stack;
    expect(await done('web', (await client.apply(webSpec(ledger, 2))).operation)).toBe('done');
    await client.temporal.workflow.getHandle('cluster/web').terminate('recording');
    expect(await done('web', (await client.apply(webSpec(ledger, 1))).operation)).toBe('rejected');
    await keep('refused-after-termination', 'cluster/web');
    expect(await done('web', (await client.apply(webSpec(ledger, 2))).operation)).toBe('done');
    await keep('adopted', 'cluster/web');
  }));

it('records a group that collects its reports and continues as new', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-record-'));
  const server = await startServer({
    binary: inject('temporalBinary'),
    dataFolder: folder,
    port: 0,
    ui: false,
    searchAttributes: heddleSearchAttributes,
    dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 60 },
    say: () => undefined,
  });
  try {
    const config = { scale: { inlineNodes: 1, groupNodes: 3, inFlight: 10 } };
    await inStudio({ temporalAddress: server.address, config }, async ({ stack, ledger, keep, done }) => {
      const { client } = stack;
      expect(await done('web', (await client.apply(webSpec(ledger, 3))).operation)).toBe('done');
      expect(
        await done(
          'web',
          (await client.operate('web', { kind: 'restart', services: ['app'], width: 2 })).operation,
        ),
      ).toBe('done');
      await keepRuns(
        { stack, keep },
        { name: 'group-collected', workflowId: 'cluster/web/group/1', runs: 2 },
      );
      await keepRuns({ stack, keep }, { name: 'with-groups', workflowId: 'cluster/web', runs: 3 });
    });
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
});

it('records claims', async () => {
  const node = await startNode();
  try {
    const machine = {
      name: 'one',
      address: '127.0.0.1',
      port: node.target.port,
      user: 'me',
      password: 'let me in',
    };
    await inStudio(
      { accounts: { rack: { type: 'static', hostKeys: 'pin', fields: { machines: [machine] } } } },
      async ({ stack: { client }, keep, done }) => {
        expect(
          await done(
            'old',
            (await client.apply(closed({ name: 'old', nodes: { app: nodes(1, [], { provider: 'rack' }) } })))
              .operation,
          ),
        ).toBe('done');
        expect(await done('old', (await client.delete('old')).operation)).toBe('done');
        await keep('claims', 'claims/rack');
      },
    );
  } finally {
    await node.close();
  }
});

it('records the runs of a cluster that continues as new in the middle of an operation', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-record-'));
  const server = await startServer({
    binary: inject('temporalBinary'),
    dataFolder: folder,
    port: 0,
    ui: false,
    searchAttributes: heddleSearchAttributes,
    dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 40 },
    say: () => undefined,
  });
  try {
    await inStudio({ temporalAddress: server.address }, async ({ stack, ledger, keep, done }) => {
      const { client } = stack;
      expect(await done('web', (await client.apply(webSpec(ledger, 1))).operation)).toBe('done');
      await keepRuns({ stack, keep }, { name: 'continued-as-new', workflowId: 'cluster/web', runs: 2 });
    });
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
});

it('records a pool whose nodes are requested, kept ready and returned', () =>
  inStudio({}, async ({ stack, keep }) => {
    const pool = new PoolClient(stack.client.temporal, 'ci', { by: 'test' });
    const offer = { hardware: 'small', image: 'host', fields: {}, uses: { nodes: 1 } };
    const spec = (minReady: number): PoolSpec => ({
      name: 'ci',
      tenants: {},
      labels: { small: { minReady, spareAge: 600, onReturn: 'delete' } },
      providerPools: {
        main: {
          provider: 'local',
          priority: 100,
          limits: { nodes: 2 },
          attributes: {},
          launchAttempts: 3,
          labels: { small: offer },
        },
      },
    });
    await pool.apply(spec(0));
    const { id } = await pool.obtain(['small', 'small'], { requester: 'job' });
    const waiting = await pool.request(['small']);
    await pool.return(id);
    await pool.waitFor(waiting.id);
    await pool.apply(spec(1));
    await until('a node is ready', async () => (await pool.nodes()).some(({ state }) => state === 'ready'));
    await keep('pool', poolWorkflowId('ci'));
    await pool.deletePool();
    await pool.gone();
    await keep('pool-deleted', poolWorkflowId('ci'));
  }));

it('records a standalone machine that is loaded, switched and captured', () =>
  inStudio({}, async ({ stack, keep }) => {
    const { add, operate } = openGround(stack);
    await add('one');
    await operate('one', { kind: 'load', image: host });
    await operate('one', { kind: 'status' });
    await operate('one', { kind: 'capture', image: { name: 'work', revision: '1' }, prove: true });
    await keep('machine', 'machine/one');
  }));

it('records a standalone machine that was off, and is written twice', () =>
  inStudio({}, async ({ stack, keep }) => {
    const { add, operate } = openGround(stack);
    await add('one');
    await operate('one', { kind: 'power', verb: 'off' });
    await operate('one', { kind: 'load', image: host });
    await keep('machine-written-twice', 'machine/one');
  }));

it('records a standalone machine whose account is described again before each operation', () =>
  inStudio({}, async ({ stack, keep }) => {
    const { add, operate } = openGround(stack);
    await add('one');
    await operate('one', { kind: 'load', image: host });
    await operate('one', { kind: 'power', verb: 'status' });
    await keep('machine-refreshed', 'machine/one');
  }));

/** Keeps the first runs of a workflow that continued as new. */
async function keepRuns(
  { stack, keep }: Pick<Studio, 'stack' | 'keep'>,
  { name, workflowId, runs }: { readonly name: string; readonly workflowId: string; readonly runs: number },
): Promise<void> {
  const found = await until(`${runs} runs of ${workflowId} are listed`, async () => {
    const all = await listed(stack, `WorkflowId = '${workflowId}'`);
    return all.length >= runs && all;
  });
  const inOrder = found.toSorted((one, other) => one.startTime.getTime() - other.startTime.getTime());
  for (const [index, { runId }] of inOrder.slice(0, runs).entries())
    await keep(`${name}-${index + 1}`, workflowId, runId);
}

async function listed(stack: Stack, query: string): Promise<readonly WorkflowExecutionInfo[]> {
  const found: WorkflowExecutionInfo[] = [];
  for await (const execution of stack.client.temporal.workflow.list({ query })) found.push(execution);
  return found;
}
