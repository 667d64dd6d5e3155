import { beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../harness/stack.js';
import { type Ledger, onceEach, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

describe('an apply that is limited to nodes or services', () => {
  let folder: string;
  let stack: Stack;
  let ledger: Ledger;
  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
    stack = await startStack();
    await stack.startWorker();
  });

  async function applied(spec: ReturnType<typeof closed>, options: object = {}) {
    const { operation } = await stack.client.apply(spec, options);
    return (await stack.client.waitFor(spec.name, operation, { everyMs: 100 })).operation;
  }

  it('leaves the rest to the next apply, and each script runs exactly once', async () => {
    const { client } = stack;
    const script = ledger.script();
    const spec = closed({
      name: 'part',
      nodes: { db: nodes(1, ['db']), app: nodes(2, ['app', 'agent']), lb: nodes(1, ['lb']) },
      services: {
        db: { actions: { start: script } },
        app: { runtime: { requires: ['db'] }, actions: { install: script, start: script } },
        agent: { actions: { install: script } },
        lb: { actions: { start: script } },
      },
    });
    expect(await applied(spec, { nodes: ['app-1'], services: ['app'] })).toMatchObject({
      state: 'done',
      what: 'apply app on app-1',
      left: 11,
    });
    expect((await ledger.lines('part')).toSorted()).toEqual(
      [
        ...onceEach('part db-1 db', ['START']),
        ...onceEach('part app-1 app', ['INSTALL', 'START']),
      ].toSorted(),
    );
    const { nodes: made } = await client.status('part');
    expect(made.map(({ nodeId, services }) => [nodeId, services])).toEqual([
      ['db-1', ['db']],
      ['app-1', ['app']],
    ]);

    expect(await applied(spec, { nodes: ['app-3'] })).toMatchObject({
      state: 'rejected',
      reason: expect.stringContaining('node app-3 exists neither in the cluster nor in its file'),
    });

    // The same spec without limits is not unchanged.
    const rest = await applied(spec);
    expect(rest).toMatchObject({ state: 'done', id: '3' });
    expect(rest.left).toBeUndefined();
    expect(rest.unchanged).toBeUndefined();
    expect((await ledger.lines('part')).toSorted()).toEqual(
      [
        ...onceEach('part db-1 db', ['START']),
        ...['app-1', 'app-2'].flatMap((node) => [
          ...onceEach(`part ${node} app`, ['INSTALL', 'START']),
          ...onceEach(`part ${node} agent`, ['INSTALL']),
        ]),
        ...onceEach('part lb-1 lb', ['START']),
      ].toSorted(),
    );
    const { operation = '' } = await client.delete('part');
    await client.waitFor('part', operation, { everyMs: 100 });
  });

  it('is another request than one without limits while it is held', async () => {
    const { client } = stack;
    const spec = closed({
      name: 'kept',
      nodes: { db: nodes(1, ['db']), app: nodes(2, ['app']) },
      services: {
        db: { actions: { start: ledger.script() } },
        app: {
          runtime: { requires: ['db'] },
          actions: { start: ledger.script({ gate: 'kept', body: 'test -e "$GATE.fine" || exit 4' }) },
        },
      },
    });
    await ledger.open('kept');
    const limit = { nodes: ['app-2'] };
    expect(await applied(spec, limit)).toMatchObject({ id: '1', state: 'held' });
    await expect(client.operate('kept', { kind: 'replace', nodes: ['db-1'] })).rejects.toThrow(
      'operation 1 (apply on app-2) is held and does not include db-1',
    );
    await ledger.open('kept.fine');
    expect(await applied(spec, limit)).toMatchObject({ id: '1', state: 'done', left: 4 });
    expect(await applied(spec)).toMatchObject({ id: '2', state: 'done' });
    const { operation = '' } = await client.delete('kept');
    await client.waitFor('kept', operation, { everyMs: 100 });
  });
});
