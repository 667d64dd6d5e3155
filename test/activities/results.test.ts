import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/model/json.js';
import { startNode } from '../harness/ssh-server.js';
import { request, secret } from '../harness/activities/parts.js';
import { failureOf, openWithEcho, passing, Scene } from '../harness/activities/scene.js';

let scene: Scene;

beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());
beforeEach(() => scene.begin());
afterEach(() => scene.expectNothingExecuted());

// Promise: results-one-filter
describe('a result', () => {
  // Promise: results-no-reference
  test.each([
    ['as a value', () => ({ note: scene.trap() })],
    ['in a list', () => ({ note: [{ deep: scene.trap() }] })],
    ['beside another key that a later result could delete', () => ({ note: { ...scene.trap(), x: 1 } })],
    ['as the result itself', () => scene.trap()],
  ])('of an automator that holds a secret reference %s is refused', async (_place, result) => {
    const failure = await failureOf(
      scene.bench.run(
        'INSTALL',
        request({}, { ...scene.service(JSON.stringify(result())), config: scene.payload() }),
      ),
    );
    expect(failure).toMatchObject({
      type: 'Invalid',
      nonRetryable: true,
      message: expect.stringMatching(/plugin echo returned .*secret/),
    });
    expect(failure.message).not.toContain('/usr/bin/touch');
  });

  test('of a provider that passes no references is refused when ssh-auth holds one', async () => {
    const how = JSON.stringify({
      ipaddress: scene.node.target.host,
      'ssh-port': scene.node.target.port,
      'ssh-auth': { user: 'tester', key: scene.trap() },
    });
    const failure = await failureOf(scene.bench.run('CONFIRM', request({ how })));
    expect(failure).toMatchObject({
      type: 'Invalid',
      message: expect.stringMatching(/plugin fault returned .*ssh-auth\.key.*passReferences/),
    });
  });

  const forbidden: readonly (readonly [string, () => JsonObject, RegExp])[] = [
    ['a reference', () => ({ note: scene.trap() }), /note.*secret reference.*refused/],
    ['a key of Heddle', () => ({ flavor: 'mine' }), /flavor, which is reserved for Heddle/],
  ];

  test.each(forbidden)('of CREATE with %s is refused', async (_what, result, words) => {
    const how = JSON.stringify({ providerid: 'm-1', ...result() });
    expect(await failureOf(scene.bench.run('CREATE', request({ how })))).toMatchObject({
      type: 'Invalid',
      message: expect.stringMatching(words) as string,
    });
  });

  test.each([
    ...forbidden,
    ['an address', () => ({ ipaddress: '127.0.0.66' }), /ipaddress from BOOTSTRAP/] as const,
  ])('of BOOTSTRAP with %s is refused', async (_what, result, words) => {
    const asked = request({}, { config: scene.payload({ echo: result() }), automators: ['echo'] });
    expect(await failureOf(scene.bench.run('BOOTSTRAP', asked))).toMatchObject({
      type: 'Invalid',
      message: expect.stringMatching(words) as string,
    });
  });

  test('that CREATE adopts from find is filtered like the one CREATE returns', async () => {
    const how = JSON.stringify({ flavor: 'mine', 'ssh-auth': { user: 'tester', key: scene.trap() } });
    const adopted = await failureOf(scene.bench.run('CREATE', request({ how }, { adopt: true })));
    expect(adopted).toMatchObject({ type: 'Invalid', message: expect.stringMatching(/flavor.*ssh-auth/s) });
  });

  test('of a provider that passes references may contain one of its account in ssh-auth, and CONFIRM uses it', async () => {
    const same = await startNode({ password: secret });
    const other = await openWithEcho(passing, {
      providers: {
        fault: { type: 'fault', site: 'here', fields: { login: { password: { secret: 'env:TOKEN' } } } },
      },
    });
    try {
      const auth = { user: same.target.user, password: { secret: 'env:TOKEN' } };
      const how = JSON.stringify({
        ipaddress: same.target.host,
        'ssh-port': same.target.port,
        'ssh-auth': auth,
        'ssh-host-key': same.target.hostKey,
      });
      const { result = {} } = await other.run('CONFIRM', request({ how }));
      expect(result).toMatchObject({ 'ssh-auth': auth, 'ssh-host-key': same.target.hostKey });
      const others = JSON.stringify({
        ipaddress: same.target.host,
        'ssh-auth': { user: same.target.user, password: { secret: 'env:OTHER' } },
      });
      expect(await failureOf(other.run('CONFIRM', request({ how: others })))).toMatchObject({
        type: 'Invalid',
        message: expect.stringContaining('ssh-auth.password'),
      });
      const elsewhere = JSON.stringify({ ipaddress: same.target.host, note: { secret: 'env:TOKEN' } });
      expect(await failureOf(other.run('CONFIRM', request({ how: elsewhere })))).toMatchObject({
        type: 'Invalid',
        message: expect.stringContaining('note'),
      });
    } finally {
      await other.close();
      await same.close();
    }
  });

  // Promise: results-identity
  test.each([
    'providerid',
    'ipaddress',
    'hostname',
    'ssh-auth',
    'ssh-port',
    'ssh-host-key',
    'ssh-jump',
    'pool',
  ])('that HEDDLE_RESULT sets %s in is refused', async (key) => {
    const script = `echo "${key}=127.0.0.66" >> "$HEDDLE_RESULT"`;
    const failure = await failureOf(
      scene.bench.run('INSTALL', request({}, { ...scene.service(script, 'shell'), config: scene.payload() })),
    );
    expect(failure).toMatchObject({ type: 'Invalid', nonRetryable: true });
    expect(failure.message).toMatch(new RegExp(`plugin shell returned ${key} .*provider.*another key`, 's'));
  });

  test.each([
    { 'ssh-auth': null },
    { 'ssh-auth': { user: null } },
    { 'ssh-auth': { password: 'x' } },
    { 'ssh-host-key': null },
    { providerid: null },
  ])('of an automator cannot delete or change what reaches the machine: %j', async (result) => {
    const failure = await failureOf(
      scene.bench.run(
        'INSTALL',
        request({}, { ...scene.service(JSON.stringify(result)), config: scene.payload() }),
      ),
    );
    expect(failure).toMatchObject({
      type: 'Invalid',
      message: expect.stringContaining(Object.keys(result)[0] ?? ''),
    });
  });

  test('of an automator that fails adds nothing to the payload', async () => {
    const stolen = {
      providerid: 'i-other',
      ipaddress: '127.0.0.66',
      'ssh-port': 2222,
      'ssh-host-key': 'ssh-rsa AA',
    };
    const script = `FAIL${JSON.stringify(stolen)}`;
    const failure = await failureOf(
      scene.bench.run('INSTALL', request({}, { ...scene.service(script), config: scene.payload() })),
    );
    expect(failure).toMatchObject({ type: 'ScriptFailed' });
    expect(failure.details?.[0]).not.toHaveProperty('result');
  });
});
