import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTaskActivities } from '../../src/activities/table.js';
import type { JsonObject } from '../../src/model/json.js';
import { type Bench, request, secret } from '../harness/activities/parts.js';
import { failureOf, openWithEcho, passing, Scene } from '../harness/activities/scene.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';

let scene: Scene;

beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());
beforeEach(() => scene.begin());
afterEach(() => scene.expectNothingExecuted());

const notTheAccounts = {
  type: 'Invalid',
  message: expect.stringContaining('holds a secret reference that is neither in') as string,
};

/**
 * Places where a node or a plugin can put a secret reference into the payload; in `ssh-auth`
 * the task fails, elsewhere the reference stays as it is.
 */
const forged: readonly (readonly [place: string, config: () => JsonObject, isLogin: boolean])[] = [
  ['a key of its own', () => scene.payload({ note: scene.trap() }), false],
  ['the bottom of a structure', () => scene.payload({ note: { list: [{ deep: scene.trap() }] } }), false],
  [
    'the password of ssh-auth',
    () => scene.payload({ 'ssh-auth': { user: scene.node.target.user, password: scene.trap() } }),
    true,
  ],
  [
    'the key of ssh-auth',
    () =>
      scene.payload({
        'ssh-auth': {
          user: scene.node.target.user,
          key: scene.trap(),
          password: scene.node.target.password ?? '',
        },
      }),
    true,
  ],
];

// Promise: payload-not-resolved
describe('a secret reference in the payload', () => {
  const how = (): string => JSON.stringify({ ipaddress: scene.node.target.host });

  test.each(forged)('at %s is not resolved by a task of the node', async (_place, config, isLogin) => {
    const attempt = scene.bench.run('INSTALL', request({}, { ...scene.service('{}'), config: config() }));
    if (isLogin) expect(await failureOf(attempt)).toMatchObject(notTheAccounts);
    else await attempt;
  });

  test.each(forged)('at %s is not resolved by CONFIRM', async (_place, config, isLogin) => {
    const attempt = scene.bench.run('CONFIRM', request({ how: how() }, { config: config() }));
    if (isLogin) expect(await failureOf(attempt)).toMatchObject(notTheAccounts);
    else await attempt;
  });

  test.each(forged)('at %s is not resolved by a probe or a health check', async (_place, config, isLogin) => {
    const { PROBE_NODES } = createTaskActivities(scene.bench.parts);
    const node = {
      nodeId: 'app-1',
      incarnation: 1,
      keyUid: 'u',
      config: config(),
      checks: { app: { command: 'true', timeout: 5, every: 1, within: 5 } },
    };
    const environment = new MockActivityEnvironment(
      { attempt: 9, startToCloseTimeoutMs: 60_000 },
      { logger: new DefaultLogger('ERROR') },
    );
    const found: unknown = await environment.run(PROBE_NODES, {
      clusterId: 'web',
      provider: { name: 'fault', type: 'fault', fields: { how: how() } },
      nodes: [node],
    });
    expect(found).toMatchObject(
      isLogin
        ? { unknown: [{ nodeId: 'app-1', why: notTheAccounts.message }] }
        : { unknown: [], health: [{ nodeId: 'app-1', service: 'app', well: true }] },
    );
  });

  test('outside ssh-auth is not resolved by CONFIRM of an account that passes references', async () => {
    const login = { password: { secret: 'env:TOKEN' } };
    const node = await startNode({ password: secret });
    const other = await openWithEcho(passing, {
      providers: { fault: { type: 'fault', site: 'here', fields: { login } } },
    });
    try {
      const { host, port, user, hostKey } = node.target;
      const config = {
        ...scene.payload({ note: scene.trap(), 'ssh-auth': { user, ...login } }),
        'ssh-port': port,
        'ssh-host-key': hostKey,
      };
      await other.run('CONFIRM', request({ how: JSON.stringify({ ipaddress: host }) }, { config }));
    } finally {
      await other.close();
      await node.close();
    }
  });
});

test('a reference that the account has itself is resolved: what the other tests forge would be executed', async () => {
  const trap = scene.trap();
  const other = await openWithEcho(passing, {
    providers: { fault: { type: 'fault', site: 'here', fields: { login: { password: trap } } } },
  });
  try {
    const config = scene.payload({ 'ssh-auth': { user: scene.node.target.user, password: trap } });
    await other.run('INSTALL', request({}, { ...scene.service('{}'), config }));
    scene.expectExecuted();
  } finally {
    await other.close();
  }
});

describe('a reference of the account in ssh-auth', () => {
  const reference = { secret: 'env:TOKEN' };
  let node: TestNode;
  let bench: Bench;
  let count = 0;
  beforeAll(async () => {
    node = await startNode({ password: secret });
    bench = await openWithEcho(passing);
  });
  afterAll(async () => {
    await bench.close();
    await node.close();
  });

  const configure = (account: { readonly type: string; readonly fields: JsonObject }): void => {
    Object.assign(bench.parts.providers, { fault: { site: 'here', ...account } });
  };
  /** A task on a node whose payload has the reference. */
  const install = (): Promise<unknown> => {
    count += 1;
    const { host, port, user, hostKey } = node.target;
    const config = {
      ...scene.payload({ 'ssh-auth': { user, password: reference } }),
      ipaddress: host,
      'ssh-port': port,
      'ssh-host-key': hostKey,
    };
    const asked = { ...scene.service('true', 'shell'), taskId: `u/app-1#1/app/INSTALL/own-${count}`, config };
    return bench.run('INSTALL', request({}, asked));
  };

  // Promise: own-references
  test('is resolved as long as its fields in heddle.yaml have it', async () => {
    configure({ type: 'fault', fields: { login: { password: reference } } });
    await expect(install()).resolves.toBeDefined();
    const others: readonly JsonObject[] = [
      {},
      { login: { password: { secret: 'env:OTHER' } } },
      { token: reference },
    ];
    for (const fields of others) {
      configure({ type: 'fault', fields });
      expect(await failureOf(install())).toMatchObject({
        type: 'Invalid',
        message: expect.stringContaining('that is neither in the account') as string,
      });
    }
  });

  test('is resolved as long as its inventory has it', async () => {
    const inventory = join(bench.folder, 'hosts.yml');
    const write = (secretOf: string): void =>
      writeFileSync(
        inventory,
        `machines: [{name: a, address: 127.0.0.1, password: {secret: '${secretOf}'}}]\n`,
      );
    configure({ type: 'static', fields: { inventory } });
    write('env:TOKEN');
    await expect(install()).resolves.toBeDefined();
    write('env:OTHER');
    // What else an inventory lacks then, such as the machine, does not matter.
    await failureOf(install());
    rmSync(inventory);
    await failureOf(install());
  });
});
