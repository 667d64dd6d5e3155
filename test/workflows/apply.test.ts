import { beforeAll, describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { type Stack, startStack } from '../harness/stack.js';
import { type Ledger, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

const patience = { everyMs: 100 } as const;

describe('requests to a cluster', () => {
  let folder: string;
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
    stack = await startStack();
    await stack.startWorker();
  });

  /** One node with a script; two specs of the same name differ in their configuration. */
  function specFor(name: string, script: object, { config = {}, group = {} } = {}): ClusterSpec {
    return closed({
      name,
      nodes: { app: nodes(1, ['app'], group) },
      services: { app: { actions: { start: script } } },
      config,
    });
  }

  async function deleteAll(name: string): Promise<void> {
    const { operation = '' } = await stack.client.delete(name);
    expect((await stack.client.waitFor(name, operation, patience)).operation.state).toBe('done');
  }

  it.concurrent('return the same operation for the same spec, and continue it if it is held; an idle cluster is probed again', async () => {
    const { client } = stack;
    const spec = specFor('same', ledger.script({ gate: 'same', body: 'test -e "$GATE.mended" || exit 4' }));
    const { operation, clusterUid } = await client.apply(spec);
    await ledger.written('same app-1 app START begin');
    expect(await client.apply(spec)).toEqual({ operation, clusterUid, unchanged: true });
    await ledger.open('same');
    expect((await client.waitFor('same', operation, patience)).operation.state).toBe('held');
    await ledger.open('same.mended');
    expect(await client.apply(spec)).toEqual({ operation, clusterUid });
    expect((await client.waitFor('same', operation, patience)).operation.state).toBe('done');
    expect(await client.apply(spec, { createOnly: true })).toMatchObject({ operation, unchanged: true });
    const again = await client.apply(spec);
    expect((await client.waitFor('same', again.operation, patience)).operation).toMatchObject({
      id: '2',
      state: 'done',
      unchanged: true,
    });
    await deleteAll('same');
  });

  it.concurrent('an apply of another spec is refused with a reason while the cluster is busy, or with createOnly', async () => {
    const { client } = stack;
    const { operation } = await client.apply(specFor('busy', ledger.script({ gate: 'busy' })));
    await ledger.written('busy app-1 app START begin');
    const other = specFor('busy', ledger.script({ gate: 'busy' }), { config: { changed: true } });
    await expect(client.apply(other)).rejects.toMatchObject({
      code: 'Refused',
      message: `cluster busy is busy with operation ${operation} (apply by test); ask again when it has ended, or wait for it with --queue`,
    });
    await expect(client.apply(other, { createOnly: true })).rejects.toThrow(
      'cluster busy already exists with another spec; apply without --create-only to change it',
    );
    await expect(client.retry('busy')).rejects.toThrow(
      'cluster busy holds no failed operation, so there is nothing to retry',
    );
    await ledger.open('busy');
    await client.waitFor('busy', operation, patience);
    await expect(client.apply(other, { createOnly: true })).rejects.toThrow(
      'already exists with another spec',
    );
    await deleteAll('busy');
  });

  it.concurrent('leave the cluster unchanged if they are rejected, and keep the previous spec', async () => {
    const { client } = stack;
    const spec = specFor('change', ledger.script());
    const { operation, clusterUid } = await client.apply(spec);
    await client.waitFor('change', operation, patience);
    const wrong = await client.apply(specFor('change', ledger.script(), { group: { provider: 'nowhere' } }));
    const rejected = await client.waitFor('change', wrong.operation, patience);
    expect(rejected.operation).toMatchObject({
      state: 'rejected',
      reason:
        'nodes.app.provider: names provider "nowhere", which the workers do not have. They have: local, pool.',
    });
    expect(rejected.status.nodes.map(({ state }) => state)).toEqual(['ready']);
    expect(await client.apply(spec, { createOnly: true })).toEqual({
      operation,
      clusterUid,
      unchanged: true,
    });
    await deleteAll('change');
  });

  it.concurrent('an apply is refused during a delete, also with the same spec; afterwards it creates a new cluster', async () => {
    const { client } = stack;
    const stop = ledger.script({ gate: 'again' });
    const spec = closed({
      name: 'again',
      nodes: { app: nodes(1, ['app']) },
      services: { app: { actions: { start: ledger.script(), stop } } },
    });
    const first = await client.apply(spec);
    await client.waitFor('again', first.operation, patience);
    const { operation = '' } = await client.delete('again');
    await ledger.written('again app-1 app STOP begin');
    await expect(client.apply(spec)).rejects.toThrow(
      'cluster again is being deleted; apply again when it is gone',
    );
    expect(await client.delete('again')).toMatchObject({ operation, unchanged: true });
    await ledger.open('again');
    await client.waitFor('again', operation, patience);
    await client.temporal.workflow.getHandle('cluster/again').result();

    const second = await client.apply(spec);
    expect(second.unchanged).toBeUndefined();
    expect(second.clusterUid).not.toBe(first.clusterUid);
    const { status } = await client.waitFor('again', second.operation, patience);
    expect(status.nodes.map(({ state }) => state)).toEqual(['ready']);
    await deleteAll('again');
  });

  it.concurrent('keep a delete without a worker until one starts', async () => {
    const lonely = await startStack({ busyMs: 8_000 });
    try {
      const worker = await lonely.startWorker();
      const { operation } = await lonely.client.apply(specFor('kept', ledger.script()));
      await lonely.client.waitFor('kept', operation, patience);
      await worker.kill();
      expect(await lonely.client.delete('kept')).toEqual({});
      await lonely.startWorker('next');
      expect(await lonely.client.temporal.workflow.getHandle('cluster/kept').result()).toBe(
        'cluster kept was deleted',
      );
      expect(await lonely.service.machines()).toEqual([]);
    } finally {
      await lonely.stop();
    }
  });
});
