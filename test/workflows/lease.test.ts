import { beforeAll, describe, expect, it } from 'vitest';
import { clusterWorkflowId } from '../../src/model/names.js';
import { clusterMessages } from '../../src/workflows/messages.js';
import { type Stack, startStack } from '../harness/stack.js';
import { until } from '../harness/until.js';
import { openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

describe('A leased node', () => {
  let folder: string;
  let stack: Stack;
  beforeAll(async () => {
    folder = newFolder();
    stack = await startStack();
    await stack.startWorker();
  });

  it('starts its services again after it was switched off, although its provider cannot be asked then', async () => {
    const ledger = openLedger(folder);
    const { operation } = await stack.client.apply(
      closed({
        name: 'shop',
        nodes: { app: nodes(1, ['shop']) },
        services: { shop: { actions: { install: ledger.script(), start: ledger.script() } } },
      }),
    );
    await stack.client.waitFor('shop', operation, { everyMs: 100 });
    const before = await ledger.lines('shop ');

    const handle = stack.client.temporal.workflow.getHandle(clusterWorkflowId('shop'));
    const leaseId = 'test/1';
    await handle.executeUpdate(clusterMessages.updates.lease, {
      args: [{ nodeId: 'app-1', leaseId, to: 'image/test' }],
    });
    await stack.service.arm({ fault: 'http', operation: 'list', status: 503, count: 3 });
    await handle.signal(clusterMessages.signals.release, { leaseId, repair: true });
    await until('the node is restored', async () => {
      const { lease, operation: current, queued } = await stack.client.status('shop');
      return lease === undefined && current === undefined && queued.length === 0;
    });

    const { history, nodes: rows } = await stack.client.status('shop');
    expect(history[0]).toMatchObject({ kind: 'apply', state: 'done', by: 'image/test (it released app-1)' });
    expect((await ledger.lines('shop ')).slice(before.length)).toEqual([
      expect.stringContaining('START'),
      expect.stringContaining('START'),
    ]);
    expect(rows).toMatchObject([{ nodeId: 'app-1', state: 'ready', incarnation: 1 }]);
    expect(rows[0]?.drift).toBeUndefined();
  });
});
