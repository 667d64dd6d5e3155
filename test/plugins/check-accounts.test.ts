import { beforeAll, describe, expect, test } from 'vitest';
import { checkAccounts } from '../../src/plugins/check-accounts.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';

let registry: Registry;
beforeAll(async () => {
  registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
});

const machines = [{ name: 'one', address: '10.0.0.1' }];

describe('provider accounts', () => {
  test('get the defaults of their fields and keep everything else', () => {
    expect(checkAccounts(registry, { rack: { type: 'static', site: 'lab', fields: { machines } } })).toEqual({
      rack: {
        type: 'static',
        site: 'lab',
        fields: { machines, slots: 1, liveness: 'none', user: 'root', port: 22, programs: {} },
      },
    });
  });

  test('have a call limit only if the provider type counts calls', () => {
    const limits = { callsPerSecond: 2 };
    const fields = { endpoint: 'http://127.0.0.1:1', apiKey: 'k' };
    expect(checkAccounts(registry, { service: { type: 'local', fields, limits } })).toMatchObject({
      service: { limits },
    });
    expect(() => checkAccounts(registry, { rack: { type: 'static', fields: { machines }, limits } })).toThrow(
      'providers.rack.limits.callsPerSecond: cannot be enforced: provider type static does not count its calls. ratePerSecond limits CREATE and DELETE.',
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
        '  providers.box.allow.endpoint: has no effect: the field is not declared `overridable: listed`. Such fields of type docker: network.',
        '  providers.box.allow.user: has no effect: the field is not declared `overridable: listed`. Such fields of type docker: network.',
      ].join('\n'),
    );
  });

  test.each([
    ['aws', { region: 'Frankfurt!' }, 'region: "Frankfurt!" does not match'],
    ['aws', { region: 'eu-central-1', subnets: [] }, 'subnets: [] is empty'],
    ['aws', { region: 'eu-central-1', subnets: ['a'], zones: ['b'] }, 'subnets and zones exclude each other'],
    ['docker', { endpoint: 'ftp://host' }, 'endpoint: "ftp://host" does not match'],
    ['static', { machines: [] }, 'machines: must not be empty'],
    ['static', { machines: [{ name: 'a' }] }, 'machines[0].address'],
    ['ipmi', { machines, controllers: {} }, 'controllers.one: is missing'],
    ['redfish', { machines, controllers: { one: {} }, erase: [{}] }, 'erase[0].device'],
    ['service', { folder: 'x', resources: [{ name: 'a' }], programs: {} }, 'folder: "x" does not match'],
    ['service', { folder: '/x', resources: [{ name: 'a' }], programs: {} }, 'programs.reach: is missing'],
    ['libvirt', { cloudInit: false, publicKeys: ['a'] }, 'require cloudInit: true'],
  ])('of type %s with %j are refused as by CREATE', (type, fields, wrong) => {
    expect(() => checkAccounts(registry, { cloud: { type, fields } })).toThrow(wrong);
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
        '  heddle.yaml:2:3: providers.one.type: provider plugin "statc" is not installed on this worker. Did you mean "static"?',
        '  heddle.yaml:5:4: providers.two.fields.port: should be a number, but is "x". SSH port of machines without their own port: a whole number.',
        '  heddle.yaml:5:4: providers.two.fields.machins: is an unknown key. Did you mean "machines"?',
      ].join('\n'),
    );
  });
});
