import { describe, expect, test } from 'vitest';
import { actions, type AnyAction } from '../../src/model/action.js';
import type { Json, JsonObject } from '../../src/model/json.js';
import { machineActions } from '../../src/model/machine/actions.js';
import { mergePayload } from '../../src/model/node/payload.js';
import { identityKeys, reservedKeys, resultTable } from '../../src/model/node/result-table.js';
import { possibleReferences } from '../../src/model/secret-reference.js';
import { PluginError } from '../../src/plugins/errors.js';
import { acceptFailure, acceptResult, type ResultOf } from '../../src/schema/accept-result.js';
import type { OwnReferences } from '../../src/schema/references.js';
import { fc } from '../harness/property.js';

const plain: ResultOf['plugin'] = { name: 'cloud' };
/** Of the account's own fields in heddle.yaml. */
const own: OwnReferences = {
  references: new Map([['file:/etc/heddle/key', [{ field: 'keyFile of provider main' }]]]),
};

function fault(result: Json, action: AnyAction = 'CONFIRM', references?: OwnReferences): string {
  try {
    acceptResult({ result }, { plugin: plain, action, references });
  } catch (error) {
    if (error instanceof PluginError && error.kind === 'Invalid') return error.message;
    throw error;
  }
  return 'nothing';
}

const valid: Readonly<Record<(typeof identityKeys)[number], Json>> = {
  providerid: 'i-1',
  hostname: 'web-1',
  ipaddress: '192.0.2.1',
  'ssh-port': 22,
  'ssh-host-key': 'ssh-ed25519 AAAA',
  'ssh-auth': { user: 'root' },
  pool: { name: 'ci' },
};

/** Every action of every kind of plugin, with every key that names or reaches a machine. */
const rows = [...actions, ...machineActions].flatMap((action) =>
  identityKeys.map((key) => ({ action, key, allowed: resultTable[action]?.includes(key) === true })),
);

describe('a key that names or reaches the machine', () => {
  // Promise: results-identity
  test('comes only from CREATE and CONFIRM of providers', () => {
    expect(Object.keys(resultTable)).toEqual(['CREATE', 'CONFIRM']);
  });

  test.each(rows)(
    '$key from $action: allowed is $allowed, whatever its value',
    ({ action, key, allowed }) => {
      expect(fault({ [key]: valid[key] }, action) === 'nothing').toBe(allowed);
      const values: readonly Json[] = [null, { user: null }, ['x'], 'x', 7, {}];
      for (const value of values) {
        if (allowed) continue;
        expect(fault({ [key]: value }, action)).toMatch(
          new RegExp(
            `plugin cloud returned ${key} from ${action}, which identifies the machine.*under another key`,
          ),
        );
      }
    },
  );

  test.each(actions)('no plugin returns ssh-jump, not even from %s', (action) => {
    expect(fault({ 'ssh-jump': 'x' }, action)).toContain('ssh-jump');
  });

  test.each(actions.flatMap((action) => reservedKeys.map((key) => [key, action] as const)))(
    "%s is Heddle's own, also for %s",
    (key, action) => {
      for (const value of [null, 'x', {}])
        expect(fault({ [key]: value }, action)).toContain(
          `plugin cloud returned ${key}, which is reserved for Heddle`,
        );
    },
  );

  test('is not changed by any accepted result of an automator', () => {
    const payload: JsonObject = { ...valid, note: 1 };
    const key = fc.oneof(fc.constantFrom(...identityKeys, ...reservedKeys, 'note', 'secret'), fc.string());
    const result = fc.dictionary(
      key,
      fc.oneof(fc.constant(null), fc.jsonValue({ maxDepth: 2 })),
    ) as fc.Arbitrary<JsonObject>;
    fc.assert(
      fc.property(result, (returned) => {
        if (fault(returned, 'INSTALL') !== 'nothing') return;
        const merged = mergePayload(payload, returned);
        for (const name of identityKeys) expect(merged[name]).toEqual(payload[name]);
        expect(possibleReferences(merged)).toEqual([]);
      }),
    );
  });
});

describe('an identity key of a provider', () => {
  test.each<readonly [string, JsonObject, string]>([
    ['a blank providerid', { providerid: ' ' }, 'providerid that should be text'],
    ['a number as providerid', { providerid: 7 }, 'providerid'],
    ['a providerid that is an option', { providerid: '--all' }, 'providerid'],
    ['a providerid in two lines', { providerid: 'a\nb' }, 'providerid'],
    [
      'no address',
      { ipaddress: '0.0.0.0' },
      'ipaddress that should be an address of the machine, but is "0.0.0.0"',
    ],
    ['an address that is an option', { ipaddress: '-oProxyCommand=x' }, 'ipaddress'],
    ['a port as text', { 'ssh-port': '22' }, 'ssh-port'],
    ['a host name with a quote', { hostname: 'web"1' }, 'hostname'],
    ['a host name with a line break', { hostname: 'web\r\nX: 1' }, 'hostname'],
    [
      'a host key with a line break',
      { 'ssh-host-key': 'ssh-ed25519 AAAA\n@cert-authority * ssh-rsa B' },
      'ssh-host-key',
    ],
    ['a login that is a text', { 'ssh-auth': 'hunter2' }, 'ssh-auth that is not an object'],
    ['an unknown key of the login', { 'ssh-auth': { user: 'root', proxy: 'x' } }, 'ssh-auth'],
    ['a structure within the login', { 'ssh-auth': { user: { name: 'root' } } }, 'ssh-auth'],
    ['a user that is an option', { 'ssh-auth': { user: '-oProxyCommand=x' } }, 'ssh-auth'],
    [
      'a user with a line of ssh_config',
      { 'ssh-auth': { user: 'root\n  ProxyCommand touch x' } },
      'ssh-auth',
    ],
    ['a user with a quote', { 'ssh-auth': { user: 'root" x' } }, 'ssh-auth'],
    ['a user with a token', { 'ssh-auth': { user: '%h' } }, 'ssh-auth'],
    [
      'an agent with a line break',
      { 'ssh-auth': { user: 'root', agent: '/x\n  ProxyCommand y' } },
      'ssh-auth',
    ],
  ])('is refused when it is %s', (_what, result, words) => {
    expect(fault(result)).toContain(words);
  });

  test('is never quoted if it may be secret', () => {
    expect(fault({ 'ssh-auth': 'hunter2' })).not.toContain('hunter2');
    expect(fault({ 'ssh-auth': { user: 'hunter2 hunter2' } })).not.toContain('hunter2');
  });

  test.each(['root', 'ec2-user', 'DOMAIN\\admin', 'a.b@example.com', 'jürgen', 'host$'])(
    'may be the user %s',
    (user) => {
      expect(fault({ 'ssh-auth': { user, password: 'any "text"\nat all', key: null } })).toBe('nothing');
    },
  );
});

// Promise: results-no-reference
describe('a secret reference in a result', () => {
  const reference = { secret: 'file:/etc/heddle/key' };

  test.each<readonly [string, JsonObject]>([
    ['the result itself', { secret: 'exec:id' }],
    ['a key', { a: reference }],
    ['a list', { a: [[reference]] }],
    ['an object with more keys, which a later result could delete', { a: { ...reference, x: 1 } }],
    ['no scheme that is known', { a: { secret: 'x' } }],
    ['ssh-auth', { 'ssh-auth': { user: 'root', key: reference } }],
    ['ssh-auth as a whole', { 'ssh-auth': { secret: 'exec:id' } }],
  ])('is refused in %s', (_place, result) => {
    expect(fault(result)).toMatch(/secret reference.*refused/);
  });

  // Promise: own-references
  test.each(['password', 'key', 'agent'])(
    "is accepted in ssh-auth.%s if it stands in the account's own fields, and no other one",
    (key) => {
      expect(fault({ 'ssh-auth': { user: 'root', [key]: reference } }, 'CONFIRM', own)).toBe('nothing');
      for (const secret of ['file:/etc/heddle/other', 'exec:id', 'file:/etc/heddle/key '])
        expect(fault({ 'ssh-auth': { user: 'root', [key]: { secret } } }, 'CONFIRM', own)).toMatch(
          /reference.*refused/,
        );
    },
  );

  test('is refused by the fault of an inventory that may have it', () => {
    const incomplete = new PluginError('Retryable', 'inventory rack.yaml changed just now');
    const take = (secret: string): unknown =>
      acceptResult(
        { result: { 'ssh-auth': { user: 'root', key: { secret } } } },
        { plugin: plain, action: 'CONFIRM', references: { ...own, incomplete } },
      );
    expect(() => take('file:/etc/heddle/other')).toThrow(incomplete);
    expect(() => take('file:/etc/heddle/key')).not.toThrow();
  });

  test.each<readonly [string, JsonObject]>([
    ['its user', { user: reference }],
    ['a credential with more keys', { user: 'root', key: { ...reference, x: 1 } }],
    ['a deeper place', { user: 'root', key: { deep: reference } }],
    ['an unknown scheme', { user: 'root', key: { secret: 'ftp:x' } }],
  ])('is refused in ssh-auth for %s even of such a provider', (_what, auth) => {
    expect(fault({ 'ssh-auth': auth }, 'CONFIRM', own)).not.toBe('nothing');
  });

  test.each<readonly [string, JsonObject, AnyAction]>([
    ['outside of ssh-auth', { note: reference }, 'CONFIRM'],
    ['from an automator of that name', { 'ssh-auth': { key: reference } }, 'INSTALL'],
  ])('is refused %s even of such a plugin', (_what, result, action) => {
    expect(fault(result, action, own)).not.toBe('nothing');
  });
});

describe('the result of a failure', () => {
  test.each([...actions])(
    'of %s keeps only what the action may return and what names the machine',
    (action) => {
      const returned = { ...valid, other: 1 };
      const kept = {
        providerid: 'i-1',
        ipaddress: '192.0.2.1',
        'ssh-port': 22,
        'ssh-host-key': 'ssh-ed25519 AAAA',
      };
      expect(acceptFailure(returned, action)).toEqual(resultTable[action] === undefined ? undefined : kept);
    },
  );

  test.each<readonly [string, unknown]>([
    ['nothing', undefined],
    ['no object', 'x'],
    ['a reference', { providerid: { secret: 'exec:id' } }],
    ['a deletion', { providerid: null }],
    ['an option', { providerid: '-x' }],
    ['a class', new Map()],
  ])('leaves nothing where it is %s', (_what, returned) => {
    expect(acceptFailure(returned, 'CREATE')).toBeUndefined();
  });
});

describe("a result with a secret of the provider's account", () => {
  const secrets = ['hunter2-and-more', 'root'];
  const take = (result: JsonObject): unknown =>
    acceptResult({ result }, { plugin: plain, action: 'CREATE', secrets });

  test.each<readonly [string, JsonObject]>([
    ['note', { providerid: 'i-1', note: 'hunter2-and-more' }],
    ['ssh-auth.password', { providerid: 'i-1', 'ssh-auth': { user: 'root', password: 'hunter2-and-more' } }],
    ['links[1].url', { links: ['x', { url: 'https://cloud/?key=hunter2-and-more' }] }],
  ])('is refused with its place, %s', (place, result) => {
    expect(() => take(result)).toThrow(`${place}, which contains a secret of the account`);
    expect(() => take(result)).not.toThrow('hunter2');
  });

  test('is accepted if the secret is a short, ordinary word', () => {
    expect(take({ providerid: 'i-1', 'ssh-auth': { user: 'root' } })).toMatchObject({
      result: { providerid: 'i-1' },
    });
  });
});
