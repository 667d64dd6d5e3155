import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { startServer, type RunningServer } from '../../src/server/start.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

const patience = { everyMs: 200 } as const;

/**
 * Limits so small that 12 nodes do what thousands would: three workflows, each of which continues as new
 * several times.
 */
const limits = { 'limit.historyCount.suggestContinueAsNew': 50, 'limit.numPendingActivities.error': 20 };

describe('a cluster that is too large for one workflow', () => {
  let folder: string;
  let server: RunningServer;
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
    server = await startServer({
      binary: inject('temporalBinary'),
      dataFolder: join(folder, 'server'),
      port: 0,
      ui: false,
      searchAttributes: [],
      say: () => undefined,
      dynamicConfig: limits,
    });
    stack = await startStack({
      temporalAddress: server.address,
      distPath: inject('distPath'),
      config: { scale: { inlineNodes: 3, groupNodes: 5, inFlight: 15 } },
    });
    await stack.startWorker();
  });
  afterAll(async () => {
    await stack.stop();
    await server.stop();
  });

  function spec(web: number, more: object = {}): ClusterSpec {
    const service = (): object => ({
      install: ledger.script(),
      configure: ledger.script(),
      start: ledger.script(),
      stop: ledger.script(),
    });
    return closed({
      name: 'large',
      nodes: { db: nodes(2, ['db']), web: nodes(web, ['web']) },
      services: { db: { actions: service() }, web: { runtime: { requires: ['db'] }, actions: service() } },
      ...more,
    });
  }

  async function begun(count: number): Promise<readonly string[]> {
    const lines = await ledger.lines('large ');
    return lines
      .slice(count)
      .filter((line) => line.endsWith(' begin'))
      .map((line) => line.split(' ').slice(1, -1).join(' '));
  }

  async function runsOf(workflow: string): Promise<number> {
    return (await stack.client.temporal.workflow.count(`WorkflowId = '${workflow}'`)).count;
  }

  it('is created, changed and deleted by several workflows, which continue as new during operations', async () => {
    const { client, service } = stack;
    const created = await client.apply(spec(10));
    const first = await client.waitFor('large', created.operation, patience);
    expect(first.operation).toMatchObject({ state: 'done', tasks: { done: 72, total: 72, failed: 0 } });
    expect(first.status.nodes.map(({ state }) => state)).toEqual(Array.from({ length: 12 }, () => 'ready'));
    expect(first.status.groups?.map((group) => group.nodes)).toEqual([5, 4]);
    const order = await begun(0);
    expect(order).toHaveLength(36);
    expect(new Set(order).size).toBe(36);
    const lastDb = Math.max(order.indexOf('db-1 db START'), order.indexOf('db-2 db START'));
    expect(
      Math.min(...order.flatMap((line, place) => (line.endsWith('web START') ? [place] : []))),
    ).toBeGreaterThan(lastDb);
    for (const workflow of ['cluster/large', 'cluster/large/group/1', 'cluster/large/group/2'])
      expect(await runsOf(workflow)).toBeGreaterThan(1);
    expect((await client.payload('large', 'web-10'))['providerid']).toMatch(/^m-/);

    let count = (await ledger.lines('large ')).length;
    const rolling = await client.operate('large', { kind: 'restart', services: ['web'], width: 2 });
    expect((await client.waitFor('large', rolling.operation, patience)).operation).toMatchObject({
      state: 'done',
      tasks: { done: 20 },
    });
    const lines = (await ledger.lines('large ')).slice(count);
    const stopped = new Set<string>();
    for (const line of lines) {
      const [, node = '', , action, moment] = line.split(' ');
      if (action === 'STOP' && moment === 'begin') stopped.add(node);
      if (action === 'START' && moment === 'end') stopped.delete(node);
      expect(stopped.size).toBeLessThanOrEqual(2);
    }

    count = (await ledger.lines('large ')).length;
    const shrunk = await client.apply(spec(4));
    const fewer = await client.waitFor('large', shrunk.operation, patience);
    expect(fewer.operation.state).toBe('done');
    expect(fewer.status.nodes).toHaveLength(6);
    expect(await service.machines()).toHaveLength(6);

    const { operation = '' } = await client.delete('large');
    expect((await client.waitFor('large', operation, patience)).operation.state).toBe('done');
    expect(await service.machines()).toEqual([]);
    await until('all workflows of the cluster end', async () => {
      const open = [];
      for await (const { workflowId } of client.temporal.workflow.list({
        query: 'ExecutionStatus = "Running"',
      }))
        open.push(workflowId);
      return open.length === 0;
    });
  });
});
