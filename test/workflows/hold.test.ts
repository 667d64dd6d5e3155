import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { makeHostKey, startNode, type TestNode } from '../harness/ssh-server.js';
import { type Stack, startStack } from '../harness/stack.js';
import { startProxy, type TcpProxy } from '../harness/tcp-proxy.js';
import { until } from '../harness/until.js';
import { type Ledger, onceEach, openLedger } from '../harness/workflows/ledger.js';
import { closed, nodes } from '../harness/workflows/spec.js';
import { newFolder } from '../harness/folder.js';

const patience = { everyMs: 100 } as const;

describe('a task that fails', () => {
  let folder: string;
  let stack: Stack;
  let ledger: Ledger;
  /** What answers at the static machine's address. */
  let target: { port: number };
  let node: TestNode;
  let impostor: TestNode;
  let proxy: TcpProxy;

  beforeAll(async () => {
    folder = newFolder();
    ledger = openLedger(folder);
    node = await startNode();
    impostor = await startNode({ hostKeys: [makeHostKey().private] });
    target = { port: node.target.port };
    proxy = await startProxy(target);
    const machine = {
      name: 'old',
      address: '127.0.0.1',
      port: proxy.port,
      user: 'me',
      password: 'let me in',
    };
    stack = await startStack({
      accounts: { rack: { type: 'static', hostKeys: 'pin', fields: { machines: [machine] } } },
    });
    await stack.startWorker();
  });
  afterAll(async () => {
    await stack.stop();
    await proxy.close();
    await Promise.all([node.close(), impostor.close()]);
  });

  function specFor(name: string, configure: object, group: object = {}): ClusterSpec {
    const actions = { install: ledger.script(), configure, start: ledger.script() };
    return closed({ name, nodes: { app: nodes(1, ['app'], group) }, services: { app: { actions } } });
  }

  async function apply(spec: ClusterSpec) {
    const { operation } = await stack.client.apply(spec);
    return stack.client.waitFor(spec.name, operation, patience);
  }

  async function retry(name: string) {
    const { operation } = await stack.client.retry(name);
    return stack.client.waitFor(name, operation, patience);
  }

  async function deleteAll(name: string): Promise<void> {
    const { operation = '' } = await stack.client.delete(name);
    expect((await stack.client.waitFor(name, operation, patience)).operation.state).toBe('done');
  }

  it.concurrent('holds the operation; retry repeats what failed and continues, and repeats nothing else', async () => {
    const { operation, status } = await apply(
      specFor('held', ledger.script({ body: 'test -e "$LEDGER.held" || { echo "no disk" >&2; exit 9; }' })),
    );
    expect(operation).toMatchObject({ state: 'held', tasks: { done: 4, failed: 1, total: 6 } });
    expect(operation.reason).toMatch(
      /^CONFIGURE of app on app-1 failed: .*ended with exit code 9 and last printed: no disk$/,
    );
    expect(status.nodes[0]).toMatchObject({
      state: 'failed',
      failure: { kind: 'ScriptFailed', exitCode: 9, stderr: 'no disk\n' },
    });
    expect((await retry('held')).operation).toMatchObject({ id: operation.id, state: 'held' });
    await writeFile(join(folder, 'ledger.held'), '');
    expect((await retry('held')).operation).toMatchObject({
      id: operation.id,
      state: 'done',
      tasks: { done: 6, total: 6, failed: 0 },
    });
    expect(await ledger.lines('held ')).toEqual([
      ...onceEach('held app-1 app', ['INSTALL']),
      'held app-1 app CONFIGURE begin',
      'held app-1 app CONFIGURE begin',
      ...onceEach('held app-1 app', ['CONFIGURE', 'START']),
    ]);
    expect(
      await stack.service
        .journal('create')
        .then((all) => all.filter(({ hostname }) => hostname === 'held-app-1')),
    ).toHaveLength(1);
    await deleteAll('held');
  });

  it.concurrent('is repeated as often as its attempts allow, but not after a permanent exit code', async () => {
    const again = specFor(
      'again',
      ledger.script({
        body: 'test -e "$LEDGER.again" || { : >"$LEDGER.again"; exit 5; }',
        action: { attempts: 3 },
      }),
    );
    expect((await apply(again)).operation.state).toBe('done');
    expect(await ledger.lines('again app-1 app CONFIGURE begin')).toHaveLength(2);
    await deleteAll('again');
    const { operation } = await apply(
      specFor(
        'permanent',
        ledger.script({ body: 'exit 6', action: { attempts: 3, permanentExitCodes: [6] } }),
      ),
    );
    expect(operation.state).toBe('held');
    expect(await ledger.lines('permanent app-1 app CONFIGURE begin')).toHaveLength(1);
    await deleteAll('permanent');
  });

  it.concurrent('ends a script at its time limit, with its children, and reports it', async () => {
    const body = 'sleep 300 & echo $! >"$LEDGER.slow"; wait';
    const { operation } = await apply(specFor('slow', ledger.script({ body, action: { timeout: '1s' } })));
    expect(operation.state).toBe('held');
    expect(operation.reason).toMatch(/ran longer than 1 s and was ended, with all it had started/);
    expect(isAlive(Number(await readFile(`${folder}/ledger.slow`, 'utf8')))).toBe(false);
    await deleteAll('slow');
  });

  it.concurrent('is ended by a delete during a long script, with its processes', async () => {
    const script = ledger.script({
      body: 'sleep 300 & echo $! >"$LEDGER.long"; echo started >>"$LEDGER"; wait',
    });
    const { operation } = await stack.client.apply(specFor('long', script));
    await ledger.written('started');
    const pid = Number(await readFile(`${folder}/ledger.long`, 'utf8'));
    expect(isAlive(pid)).toBe(true);
    const { operation: deletion = '' } = await stack.client.delete('long');
    const { status } = await stack.client.waitFor('long', deletion, patience);
    expect(status.history.map(({ id, state }) => [id, state])).toEqual([
      [deletion, 'done'],
      [operation, 'superseded'],
    ]);
    expect(isAlive(pid)).toBe(false);
    expect((await stack.service.machines()).filter(({ hostname }) => hostname === 'long-app-1')).toEqual([]);
    expect(await ledger.lines('long app-1 app CONFIGURE end')).toEqual([]);
  });

  it.concurrent('attaches to the script after a lost connection; a changed host key holds the operation, and retry attaches too', async () => {
    const { operation } = await stack.client.apply(
      specFor('wire', ledger.script({ gate: 'wire' }), { provider: 'rack' }),
    );
    await ledger.written('wire app-1 app CONFIGURE begin');
    const before = node.connections.total;
    proxy.reset();
    await until('the worker connects again', () => node.connections.total > before);

    target.port = impostor.target.port;
    proxy.reset();
    const held = await stack.client.waitFor('wire', operation, patience);
    expect(held.operation.state).toBe('held');
    expect(held.operation.reason).toMatch(
      /^CONFIGURE of app on app-1 failed: .*shows host key SHA256:\S+, expected SHA256:\S+: possible man in the middle.*Nothing was sent to it\.$/,
    );
    expect(impostor.connections.total).toBe(0);

    target.port = node.target.port;
    await stack.client.retry('wire');
    await ledger.open('wire');
    expect((await stack.client.waitFor('wire', operation, patience)).operation.state).toBe('done');
    expect(await ledger.lines('wire ')).toEqual(
      onceEach('wire app-1 app', ['INSTALL', 'CONFIGURE', 'START']),
    );
    await deleteAll('wire');
  });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
