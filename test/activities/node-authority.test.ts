import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { afterAll, afterEach, beforeAll, beforeEach, describe, test } from 'vitest';
import { createTaskActivities } from '../../src/activities/table.js';
import type { JsonObject } from '../../src/model/json.js';
import { request } from '../harness/activities/parts.js';
import { openWithEcho, passing, Scene } from '../harness/activities/scene.js';

let scene: Scene;

beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());
beforeEach(() => scene.begin());
afterEach(() => scene.expectNothingExecuted());

/** Secret references at the places where a node or a plugin can get one into the payload. */
const forged: readonly (readonly [string, () => JsonObject])[] = [
  ['a key of its own', () => scene.payload({ note: scene.trap() })],
  ['the bottom of a structure', () => scene.payload({ note: { list: [{ deep: scene.trap() }] } })],
  [
    'the password of ssh-auth',
    () => scene.payload({ 'ssh-auth': { user: scene.node.target.user, password: scene.trap() } }),
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
  ],
];

// Promise: payload-not-resolved
describe('a secret reference in the payload', () => {
  test.each(forged)('at %s is not resolved by a task of the node', async (_place, config) => {
    await scene.bench
      .run('INSTALL', request({}, { ...scene.service('{}'), config: config() }))
      .catch(() => undefined);
  });

  test.each(forged)('at %s is not resolved by CONFIRM', async (_place, config) => {
    const asked = request(
      { how: JSON.stringify({ ipaddress: scene.node.target.host }) },
      { config: config() },
    );
    await scene.bench.run('CONFIRM', asked).catch(() => undefined);
  });

  test.each(forged)('at %s is not resolved by a survey or a health check', async (_place, config) => {
    const { PROBE_NODES } = createTaskActivities(scene.bench.parts);
    const probe = { kind: 'command' as const, command: 'true' };
    const looked = {
      nodeId: 'app-1',
      incarnation: 1,
      keyUid: 'u',
      config: config(),
      checks: { app: { probe, timeout: 5, every: 1, within: 5 } },
    };
    const how = JSON.stringify({ ipaddress: scene.node.target.host });
    const environment = new MockActivityEnvironment(
      { attempt: 9, startToCloseTimeoutMs: 60_000 },
      { logger: new DefaultLogger('ERROR') },
    );
    await environment.run(PROBE_NODES, {
      clusterId: 'web',
      provider: { name: 'fault', type: 'fault', fields: { how } },
      nodes: [looked],
    });
  });

  test('outside ssh-auth is not resolved by CONFIRM of an account that passes references', async () => {
    const other = await openWithEcho(passing, {
      providers: { fault: { type: 'fault', site: 'here', fields: {} } },
    });
    try {
      const config = scene.payload({
        note: scene.trap(),
        'ssh-auth': { user: scene.node.target.user, password: { secret: 'env:TOKEN' } },
      });
      await other
        .run('CONFIRM', request({ how: JSON.stringify({ ipaddress: scene.node.target.host }) }, { config }))
        .catch(() => undefined);
    } finally {
      await other.close();
    }
  });
});
