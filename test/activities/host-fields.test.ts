import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openAccount } from '../../src/activities/provider/account.js';
import { describeAccount } from '../../src/activities/machine/describe-account.js';
import { planCluster } from '../../src/activities/cluster/plan.js';
import { planPool } from '../../src/activities/pool/plan.js';
import type { JsonObject } from '../../src/model/json.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';
import { configSchema } from '../../src/schema/config.js';
import { openBench } from '../harness/activities/parts.js';

const openstack = {
  authUrl: 'https://cloud',
  applicationCredentialId: 'i',
  applicationCredentialSecret: 's',
};

const libcloud = { driver: 'ec2', key: 'k', secret: 's', region: 'eu-1' };

/** Fields of shipped providers that give a machine a place or authority on the host or in the account. */
const hostFields: readonly (readonly [string, JsonObject, JsonObject])[] = [
  ['docker', {}, { network: 'host' }],
  ['docker', {}, { network: 'container:another' }],
  ['aws', { region: 'eu-1' }, { instanceProfile: 'admin' }],
  ['aws', { region: 'eu-1' }, { subnets: ['subnet-admin'] }],
  ['aws', { region: 'eu-1' }, { securityGroups: ['sg-admin'] }],
  ['libvirt', {}, { bridge: 'br0' }],
  ['libvirt', {}, { network: 'admin' }],
  ['libvirt', {}, { addresses: { 'app-1': '10.0.0.1' } }],
  ['openstack', openstack, { networks: ['admin'] }],
  ['openstack', openstack, { securityGroups: ['open'] }],
  ['openstack', openstack, { floatingNetwork: 'public' }],
  ['libcloud', libcloud, { networks: ['admin'] }],
  ['libcloud', libcloud, { securityGroups: ['open'] }],
];

let registry: Registry;
beforeAll(async () => {
  registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
});
afterAll(() => registry.close());

/** Fields of administrators that users may set to anything: none gives a machine a place or authority. */
const harmless: Readonly<Record<string, readonly string[]>> = {
  aws: ['keyName', 'user', 'sshPort', 'zones', 'publicAddress', 'reachBy'],
  docker: ['publicKeys', 'user'],
  libcloud: ['keyName', 'user', 'sshPort', 'reachBy'],
  libvirt: ['cloudInit', 'publicKeys', 'user', 'sshPort'],
  openstack: ['keyName', 'user', 'sshPort', 'zones'],
  pool: ['pool'],
};

test('the table has every field of shipped providers that administrators list, and no other may be set', () => {
  const fieldsWith = (overridable: true | 'listed'): Readonly<Record<string, readonly string[]>> =>
    Object.fromEntries(
      registry.providers().flatMap(({ descriptor: { name, fields } }) => {
        const keys = Object.entries(fields?.admin ?? {}).flatMap(([key, field]) =>
          field.overridable === overridable ? [key] : [],
        );
        return keys.length === 0 ? [] : [[name, keys.toSorted()] as const];
      }),
    );
  const types = [...new Set(hostFields.map(([type]) => type))];
  expect(fieldsWith('listed')).toEqual(
    Object.fromEntries(
      types.map((type) => {
        const keys = hostFields.flatMap(([one, , given]) => (one === type ? Object.keys(given) : []));
        return [type, [...new Set(keys)].toSorted()];
      }),
    ),
  );
  expect(fieldsWith(true)).toEqual(
    Object.fromEntries(Object.entries(harmless).map(([type, keys]) => [type, keys.toSorted()])),
  );
});

// Promise: host-fields
describe.each(hostFields)('a user of provider %s %j who sets %j', (type, fields, given) => {
  const [key = ''] = Object.keys(given);
  const [value = ''] = [Object.values(given)[0]]
    .flat()
    .map((one) => (typeof one === 'object' ? Object.values(one ?? {})[0] : one));
  const account = { type, site: 'here', fields };
  const allowing = { ...account, allow: { [key]: [value ?? ''] } };

  const plan = (provider: typeof account | typeof allowing) => {
    const parts = {
      registry,
      providers: { box: provider },
      features: { searchAttributes: false },
      settings: configSchema.parse({}),
      forbiddenReferences: () => [],
      outputs: { outputs: async () => undefined, sources: async () => undefined },
    };
    const nodes = {
      app: { count: 1, provider: 'box', hardware: 'any', image: 'node', services: [], fields: given },
    };
    return planCluster(parts, {
      clusterName: 'web',
      intent: { kind: 'apply' },
      spec: { name: 'web', nodes, services: {} },
      current: { uid: 'u', nodes: [], services: {}, stopped: [], incarnation: 0, nodenum: 0 },
    } as never);
  };

  test('is refused when the cluster is planned, with the place in the file', async () => {
    await expect(plan(account)).rejects.toThrow(
      `nodes.app.fields.${key}: has a value that the administrator does not allow in cluster files. In heddle.yaml of the workers, \`allow: {${key}: [...]}\``,
    );
    await expect(plan(allowing)).resolves.toBeDefined();
  });

  test('is refused when a pool is planned', async () => {
    const planned = (provider: typeof account | typeof allowing) => {
      const parts = { registry, providers: { box: provider }, forbiddenReferences: () => [] };
      const providerPools = {
        a: {
          provider: 'box',
          priority: 100,
          limits: {},
          attributes: {},
          launchAttempts: 3,
          labels: { a: { hardware: 'any', image: 'node', fields: given, uses: { nodes: 1 } } },
        },
      };
      return planPool(parts, {
        poolName: 'ci',
        spec: {
          name: 'ci',
          tenants: {},
          labels: { a: { minReady: 0, spareAge: 1, onReturn: 'delete' } },
          providerPools,
        },
      });
    };
    await expect(planned(account)).rejects.toThrow(
      `labels.a.fields.${key}: has a value that the administrator does not allow`,
    );
    await expect(planned(allowing)).resolves.toBeDefined();
  });

  test('is refused when a machine is registered', async () => {
    const parts = { registry, providers: { box: account }, settings: configSchema.parse({}) };
    const asked = { provider: 'box', fields: given, system: null, flavor: 'any', image: 'node' };
    await expect(describeAccount(parts, asked as never)).rejects.toThrow(
      `fields.${key}: has a value that the administrator does not allow`,
    );
  });

  test('is refused when the account is used, regardless of the plan', async () => {
    const bench = await openBench('async create() {} async confirm() {} async delete() {}');
    const open = (provider: typeof account | typeof allowing) =>
      openAccount(
        { ...bench.parts, registry, providers: { box: provider } },
        { name: 'box', fields: given },
        { hide: () => undefined },
      );
    await expect(open(account)).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining(
        `fields.${key}: has a value that the administrator does not allow`,
      ) as string,
    });
    expect((await open(allowing)).fields[key]).toEqual(given[key]);
    await bench.close();
  });
});

test("a plugin that declares no fields gets the administrator's values, regardless of the user's", async () => {
  const bench = await openBench(
    'async create() {} async confirm() {} async delete() {}',
    { providers: { fault: { type: 'fault', site: 'here', fields: { endpoint: 'https://cloud' } } } },
    'seed',
  );
  const { fields } = await openAccount(
    bench.parts,
    { name: 'fault', fields: { endpoint: 'https://attacker', size: 5 } },
    { hide: () => undefined },
  );
  expect(fields).toEqual({ endpoint: 'https://cloud', size: 5 });
  await bench.close();
});
