import { join } from 'node:path';
import { rm, writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { WaitResult } from '../../src/client/wait.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { openLedger, type Ledger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const patience = { everyMs: 100 } as const;

describe('an operation in which nodes fail', () => {
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    stack = await startStack({
      // Of three nodes one is in a group's workflow.
      config: { scale: { inlineNodes: 2, groupNodes: 2 } },
    });
    ledger = openLedger(stack.folder);
    await stack.startWorker();
  });

  const marker = (name: string): string => join(stack.folder, `breaks-${name}`);
  const breaks = (name: string, on: string): string =>
    `case "$HEDDLE_NODE" in ${on}) [ ! -e '${marker(name)}' ] || { echo "on $HEDDLE_NODE" >&2; exit 7; };; esac`;

  function specOf(name: string, count: number, on: string, more: object = {}): ClusterSpec {
    const { rolling, gate, ...rest } = more as { readonly rolling?: object; readonly gate?: string };
    const start = ledger.script({ body: breaks(name, on), ...(gate === undefined ? {} : { gate }) });
    return closed({
      name,
      nodes: { app: nodes(count, ['app']), lb: nodes(1, ['lb']) },
      services: {
        app: {
          ...(rolling === undefined ? {} : { rolling }),
          actions: { install: ledger.script(), start, stop: ledger.script() },
        },
        lb: { peers: 'all', actions: { configure: ledger.script(), start: ledger.script() } },
      },
      ...rest,
    });
  }

  async function apply(spec: ClusterSpec): Promise<WaitResult> {
    const { operation } = await stack.client.apply(spec);
    return stack.client.waitFor(spec.name, operation, patience);
  }

  it.concurrent('is held by the failure of its last batch, and counts those that it tolerated', async () => {
    const rolling = { batch: 1, drain: ['lb'], maxFailures: 1 };
    const spec = specOf('staged', 3, 'app-1|app-3', { rolling });
    expect((await apply(spec)).operation.state).toBe('done');
    await writeFile(marker('staged'), '');
    const { operation: id } = await stack.client.operate('staged', { kind: 'restart', services: ['app'] });
    const { operation } = await stack.client.waitFor('staged', id, patience);
    expect(operation).toMatchObject({
      state: 'held',
      reason: expect.stringMatching(/^START of app on app-3 failed: .*on app-3$/),
      tasks: { failed: 2 },
      failures: [{ nodeId: 'app-1', tolerated: true }, { nodeId: 'app-3' }],
    });
    await rm(marker('staged'));
    await stack.client.retry('staged');
    expect((await stack.client.waitFor('staged', id, patience)).operation).toMatchObject({
      state: 'done',
      tasks: { failed: 0 },
    });
  });

  it.concurrent('failed if no node is left, although its file says continue', async () => {
    const spec = closed({
      name: 'nobody',
      onFailure: 'continue',
      nodes: { app: nodes(3, ['app']) },
      services: { app: { actions: { start: ledger.script({ body: 'exit 3' }) } } },
    });
    const { operation, status } = await apply(spec);
    expect(operation).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/^no node is left: START of app on app-\d failed: .* \(and 2 more nodes/),
      missing: { count: 3 },
    });
    expect(status.nodes.map(({ state }) => state)).toEqual(['failed', 'failed', 'failed']);
    expect(status.phase).toBe('failed');
  });

  it.concurrent('leaves nodes incomplete whose services were not installed when it was cancelled', async () => {
    const spec = closed({
      name: 'early',
      nodes: { app: nodes(1, ['app']) },
      services: { app: { actions: { install: ledger.script({ gate: 'early' }), start: ledger.script() } } },
    });
    const { operation } = await stack.client.apply(spec);
    await ledger.written('early app-1 app INSTALL begin');
    await stack.client.cancel('early');
    const { status } = await stack.client.waitFor('early', operation, patience);
    expect(status.nodes.map(({ state }) => state)).toEqual(['incomplete']);
    await ledger.open('early');
    expect((await apply(spec)).status.nodes.map(({ state }) => state)).toEqual(['ready']);
  });

  it.concurrent.each([
    ['inline', 'app-1'],
    ['grouped', 'app-3'],
  ])('abandons a node whose DELETE does not end, and no healthy one (%s)', async (name, nodeId) => {
    const spec = closed({
      name,
      nodes: { app: nodes(3, ['app']) },
      services: { app: { actions: { start: ledger.script() } } },
    });
    const { status } = await apply(spec);
    const machine = status.nodes.find((node) => node.nodeId === nodeId)?.providerid ?? '';
    await expect(stack.client.abandon(name, nodeId)).rejects.toThrow(/at rest|no node/);
    const fault = await stack.service.arm({
      fault: 'http',
      operation: 'delete',
      status: 503,
      count: 0,
      hostname: `${name}-${nodeId}`,
    });
    const { operation = '' } = await stack.client.delete(name);
    await until('only that DELETE is left', async () => {
      const { nodes: left } = await stack.client.status(name);
      return left.length === 1 && left[0]?.nodeId === nodeId && left[0].current?.action === 'DELETE';
    });
    await stack.client.abandon(name, nodeId);
    const { operation: end } = await stack.client.waitFor(name, operation, patience);
    expect(end).toMatchObject({
      state: 'done',
      abandoned: [expect.stringMatching(new RegExp(`^${nodeId} local ${machine} \\(by `))],
    });
    const left = await stack.service.machines();
    expect(left.filter(({ hostname }) => String(hostname).startsWith(`${name}-`))).toMatchObject([
      { id: machine },
    ]);
    await stack.service.release(fault);
  });

  it.concurrent('does not abandon a node that fails for another reason', async () => {
    await writeFile(marker('other'), '');
    const { operation } = await apply(specOf('other', 1, 'app-1'));
    expect(operation.state).toBe('held');
    for (const node of ['app-1', 'lb-1'])
      await expect(stack.client.abandon('other', node)).rejects.toThrow(
        /only if the deletion of its machine/,
      );
  });
});
