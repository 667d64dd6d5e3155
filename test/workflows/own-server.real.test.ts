import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { heddleSearchAttributes } from '../../src/server/setup.js';
import { type RunningServer, startServer } from '../../src/server/start.js';
import { type Stack, startStack } from '../harness/stack.js';
import { type Ledger, onceEach, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

const actions = ['INSTALL', 'CONFIGURE', 'INITIALIZE', 'START', 'STOP', 'REMOVE'] as const;

describe('on a server that suggests continue-as-new after 50 events', () => {
  let folder: string;
  let server: RunningServer;
  let stack: Stack;
  let ledger: Ledger;

  const start = (port: number): Promise<RunningServer> =>
    startServer({
      binary: inject('temporalBinary'),
      dataFolder: join(folder, 'server'),
      port,
      ui: false,
      searchAttributes: heddleSearchAttributes,
      dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 50 },
      say: () => undefined,
    });
  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
    server = await start(0);
    stack = await startStack({ temporalAddress: server.address, distPath: inject('distPath') });
    await stack.startWorker();
  });
  afterAll(async () => {
    await stack.stop();
    await server.stop();
  });

  function specFor(name: string, count: number, gate?: string) {
    const own = actions.map((action) => [
      action.toLowerCase(),
      ledger.script(action === 'INITIALIZE' && gate !== undefined ? { gate } : {}),
    ]);
    return closed({
      name,
      nodes: { app: nodes(count, ['app']) },
      services: { app: { peers: 'none', actions: Object.fromEntries(own) } },
    });
  }

  async function runsOf(name: string): Promise<number> {
    let runs = 0;
    for await (const _run of stack.client.temporal.workflow.list({ query: `WorkflowId = 'cluster/${name}'` }))
      runs += 1;
    return runs;
  }

  it('continues as new during an operation, and when idle; nothing is done twice', async () => {
    const { client, service } = stack;
    const { operation, clusterUid } = await client.apply(specFor('long', 4));
    const created = await client.waitFor('long', operation, { everyMs: 100 });
    expect(created.operation).toMatchObject({ state: 'done', tasks: { done: 28, total: 28, failed: 0 } });
    expect(created.status.uid).toBe(clusterUid);
    const ended = (await client.temporal.workflow.getHandle('cluster/long').describe()).historyLength;
    expect(ended).toBeLessThan(150);

    const { operation: deletion = '' } = await client.delete('long');
    const deleted = await client.waitFor('long', deletion, { everyMs: 100 });
    expect(deleted.operation).toMatchObject({ state: 'done' });
    expect(deleted.status.history.map(({ id, state }) => [id, state])).toEqual([
      [deletion, 'done'],
      [operation, 'done'],
    ]);
    expect(await runsOf('long')).toBeGreaterThan(2);
    const wanted = ['app-1', 'app-2', 'app-3', 'app-4'].flatMap((node) =>
      onceEach(`long ${node} app`, actions),
    );
    expect([...(await ledger.lines('long '))].toSorted()).toEqual(wanted.toSorted());
    expect(await service.journal('create')).toHaveLength(4);
    expect(await service.machines()).toEqual([]);
  });

  it('continues after the server was killed and restarted during scripts', async () => {
    const { client, service } = stack;
    const { operation } = await client.apply(specFor('restart', 2, 'restart'));
    await Promise.all([
      ledger.written('restart app-1 app INITIALIZE begin'),
      ledger.written('restart app-2 app INITIALIZE begin'),
    ]);
    const port = Number(server.address.split(':')[1]);
    process.kill(server.pid, 'SIGKILL');
    await server.stop();
    // The scripts end while there is nobody to tell.
    await ledger.open('restart');
    await Promise.all([
      ledger.written('restart app-1 app INITIALIZE end'),
      ledger.written('restart app-2 app INITIALIZE end'),
    ]);
    server = await start(port);
    expect((await client.waitFor('restart', operation, { everyMs: 100 })).operation).toMatchObject({
      state: 'done',
      tasks: { done: 14, total: 14, failed: 0 },
    });
    const { operation: deletion = '' } = await client.delete('restart');
    expect((await client.waitFor('restart', deletion, { everyMs: 100 })).operation.state).toBe('done');
    const wanted = ['app-1', 'app-2'].flatMap((node) => onceEach(`restart ${node} app`, actions));
    expect([...(await ledger.lines('restart '))].toSorted()).toEqual(wanted.toSorted());
    expect(
      (await service.journal('create')).filter(({ hostname }) => String(hostname).startsWith('restart-')),
    ).toHaveLength(2);
    expect(await service.machines()).toEqual([]);
  });
});
