import { beforeAll, describe, expect, test } from 'vitest';
import { checkAccounts } from '../../src/plugins/check-accounts.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';

let registry: Registry;
beforeAll(async () => {
  registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
});

describe('provider accounts', () => {
  test('get the defaults of their fields and keep everything else', () => {
    expect(
      checkAccounts(registry, { rack: { type: 'static', site: 'lab', fields: { machines: [] } } }),
    ).toEqual({
      rack: {
        type: 'static',
        site: 'lab',
        fields: { machines: [], slots: 1, liveness: 'none', user: 'root', port: 22 },
      },
    });
  });

  test('have a call limit only if the provider type counts calls', () => {
    const limits = { callsPerSecond: 2 };
    const fields = { endpoint: 'http://127.0.0.1:1', apiKey: 'k' };
    expect(checkAccounts(registry, { service: { type: 'local', fields, limits } })).toMatchObject({
      service: { limits },
    });
    expect(() =>
      checkAccounts(registry, { rack: { type: 'static', fields: { machines: [] }, limits } }),
    ).toThrow(
      'providers.rack.limits.callsPerSecond: cannot be kept: provider type static does not count its calls. ratePerSecond limits CREATE and DELETE.',
    );
  });

  test('list values for users only of fields that permit it', () => {
    expect(
      checkAccounts(registry, { box: { type: 'docker', fields: {}, allow: { network: ['blue'] } } }),
    ).toMatchObject({ box: { allow: { network: ['blue'] } } });
    expect(() =>
      checkAccounts(registry, {
        box: { type: 'docker', fields: {}, allow: { endpoint: ['unix:///x'], user: ['me'] } },
      }),
    ).toThrow(
      [
        '  providers.box.allow.endpoint: lists values of a field that takes none from users. Of type docker such fields are: network.',
        '  providers.box.allow.user: lists values of a field that takes none from users. Of type docker such fields are: network.',
      ].join('\n'),
    );
  });

  test('are refused with all errors and their places', () => {
    const accounts = {
      one: { type: 'statc', fields: {} },
      two: { type: 'static', fields: { machins: [], port: 'x' } },
    };
    const locate = (path: readonly unknown[]) => ({
      file: 'heddle.yaml',
      line: path[1] === 'one' ? 2 : 5,
      column: path.length,
    });
    expect(() => checkAccounts(registry, accounts, locate)).toThrow(
      [
        'The provider accounts cannot be used:',
        '  heddle.yaml:2:3: providers.one.type: there is no provider plugin "statc" on this worker. Did you mean "static"?',
        '  heddle.yaml:5:4: providers.two.fields.port: should be a number, but is "x". SSH port of machines without their own port: a whole number.',
        '  heddle.yaml:5:4: providers.two.fields.machins: is an unknown key. Did you mean "machines"?',
      ].join('\n'),
    );
  });
});
