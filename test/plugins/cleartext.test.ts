import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openAccount } from '../../src/activities/provider/account.js';
import { loadConfig } from '../../src/config/index.js';
import type { JsonObject } from '../../src/model/json.js';
import { checkAccounts } from '../../src/plugins/check-accounts.js';
import { RedfishHttp } from '../../src/plugins/providers/redfish/http.js';
import type { OpenStackFields } from '../../src/plugins/providers/openstack/field-types.js';
import { fieldsOf } from '../harness/plugins/fields.js';
import { Session } from '../../src/plugins/providers/openstack/session.js';
import { readConfigFile } from '../../src/schema/read-config.js';
import { loadRegistry, type Registry } from '../../src/plugins/registry.js';
import { resolveSecrets } from '../../src/secrets/reference.js';
import { openBench } from '../harness/activities/parts.js';

// Of the network for documentation: nothing is there, and nothing may be sent there.
const outside = 'http://192.0.2.1:1';
const unlimited = { take: () => Promise.resolve() };

const accounts: readonly (readonly [string, string, JsonObject])[] = [
  ['docker', 'endpoint', {}],
  ['aws', 'endpoint', { region: 'eu-1' }],
  ['local', 'endpoint', { apiKey: 'k' }],
  ['example', 'endpoint', { apiKey: 'k' }],
  ['openstack', 'authUrl', { applicationCredentialId: 'i', applicationCredentialSecret: 's' }],
  ['libcloud', 'endpoint', { driver: 'digitalocean', key: 'k', region: 'fra1' }],
  ['libvirt', 'uri', {}],
];

test('the table has every address of the shipped providers', async () => {
  const registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
  const addresses = registry
    .providers()
    .flatMap(({ descriptor: { name, fields } }) =>
      Object.entries({ ...fields?.admin, ...fields?.user }).flatMap(([key, { type }]) =>
        type === 'url' ? [`${name}.${key}`] : [],
      ),
    );
  expect(addresses.toSorted()).toEqual(accounts.map(([type, key]) => `${type}.${key}`).toSorted());
  await registry.close();
});

describe.each(accounts)('an account of %s whose %s is http:// outside of loopback', (type, key, fields) => {
  let registry: Registry;
  beforeAll(async () => {
    registry = await loadRegistry({ folders: [], log: { info: () => undefined } });
  });
  afterAll(() => registry.close());
  const accountAt = (address: string | JsonObject, more: JsonObject = {}) => ({
    box: { type, site: 'here', fields: { ...fields, [key]: address, ...more } },
  });

  // Promise: no-cleartext
  test('is refused when the configuration is checked, unless it says insecure: true', () => {
    expect(() => checkAccounts(registry, accountAt(outside))).toThrow(
      `providers.box.fields.${key}: is an unencrypted address of another machine. Use https://, or set \`insecure: true\`.`,
    );
    expect(() => checkAccounts(registry, accountAt(outside, { insecure: true }))).not.toThrow();
    expect(() => checkAccounts(registry, accountAt('http://127.0.0.1:1'))).not.toThrow();
    expect(() => checkAccounts(registry, accountAt('https://192.0.2.1'))).not.toThrow();
  });

  test('is refused when it is used, if the address was a reference', async () => {
    const bench = await openBench('async create() {} async confirm() {} async delete() {}');
    const environment = { ADDRESS: outside };
    const open = (more: JsonObject = {}) =>
      openAccount(
        {
          ...bench.parts,
          registry,
          providers: accountAt({ secret: 'env:ADDRESS' }, more),
          resolveSecrets: (value, { place }) =>
            resolveSecrets(value, { environment }, { writtenBy: 'administrator', place }),
        },
        { name: 'box' },
        { hide: () => undefined },
      );
    await expect(open()).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('insecure: true') as string,
    });
    expect((await open({ insecure: true })).fields[key]).toBe(outside);
    await bench.close();
  });
});

test.each<readonly [string, (more: string) => string]>([
  ['a webhook', (more) => `webhooks: {ci: {url: "${outside}", secret: {secret: "env:HOOK"}${more}}}`],
  ['a receiver of notifications', (more) => `reservations: {notify: {url: "${outside}/token"${more}}}`],
  [
    'an object store',
    () =>
      `store: {s3: {endpoint: "${outside}", bucket: logs, accessKeyId: a, secretAccessKey: {secret: "env:S"}}}`,
  ],
])('%s that is http:// outside of loopback is refused in heddle.yaml', (what, text) => {
  const read = (written: string) => readConfigFile(written, 'heddle.yaml');
  expect(read(text('')).ok).toBe(false);
  expect(read(text('').replace(outside, 'http://127.0.0.1:1')).ok).toBe(true);
  expect(read(text('').replace(outside, 'https://192.0.2.1')).ok).toBe(true);
  // Logs have no such exception.
  expect(read(text(', insecure: true')).ok).toBe(what !== 'an object store');
});

test('a Temporal server outside of loopback gets no API key without TLS', () => {
  const load = (address: string, more: Readonly<Record<string, string>> = {}): unknown =>
    loadConfig({
      cwd: '/',
      env: { HOME: '/absent', TEMPORAL_ADDRESS: address, TEMPORAL_API_KEY: 'the key', ...more },
    }).temporal.connection.tls;
  const off = { TEMPORAL_TLS: 'false' };
  expect(load('192.0.2.1:7233')).toBe(true);
  expect(load('127.0.0.1:7233', off)).toBe(false);
  expect(load('[::1]:7233', off)).toBe(false);
  for (const address of ['192.0.2.1:7233', 'temporal.example.com:7233'])
    expect(() => load(address, off)).toThrow(`the API key would be sent to ${address} unencrypted`);
});

test("an address of OpenStack's catalogue that is http:// outside of loopback gets no token", async () => {
  const keystone = createServer((_request, answer) => {
    const catalog = [
      { type: 'compute', endpoints: [{ interface: 'public', region_id: 'one', url: `${outside}/v2.1` }] },
    ];
    answer
      .writeHead(201, { 'x-subject-token': 'the token', 'content-type': 'application/json' })
      .end(
        JSON.stringify({ token: { expires_at: new Date(Date.now() + 3_600_000).toISOString(), catalog } }),
      );
  });
  keystone.listen(0, '127.0.0.1');
  await once(keystone, 'listening');
  const fields = fieldsOf<OpenStackFields>('openstack', {
    authUrl: `http://127.0.0.1:${(keystone.address() as AddressInfo).port}`,
    applicationCredentialId: 'i',
    applicationCredentialSecret: 's',
  });
  await expect(
    new Session(fields, AbortSignal.timeout(5_000), unlimited).remove('compute', '/servers/x'),
  ).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('insecure: true') as string });
  keystone.close();
});

test('a Redfish controller that is http:// outside of loopback gets no password', async () => {
  const controller = { url: outside, user: 'admin', password: 'secret', insecure: false };
  await expect(
    new RedfishHttp(controller, AbortSignal.timeout(5_000), unlimited).call('GET', '/redfish/v1'),
  ).rejects.toMatchObject({ kind: 'Invalid', message: expect.stringContaining('insecure: true') as string });
});

test('a Vault that is http:// outside of loopback gets no token', async () => {
  const sources = { environment: {}, vault: { address: outside, token: 'the token' }, timeoutMs: 1_000 };
  await expect(
    resolveSecrets({ secret: 'vault:secret/data/a#b' }, sources, {
      writtenBy: 'administrator',
      place: 'a test',
    }),
  ).rejects.toThrow('VAULT_ADDR must be https://');
});
