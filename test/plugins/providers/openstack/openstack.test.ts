import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.js';
import type { CreateInput } from '../../../../src/plugins/contract.js';
import type { OpenStackFields } from '../../../../src/plugins/providers/openstack/field-types.js';
import { conflictsOf } from '../../../../src/plugins/providers/openstack/fields.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';
import { refusal } from '../../../../src/plugins/providers/openstack/http.js';
import { addressOf, detailsSchema } from '../../../../src/plugins/providers/openstack/machines.js';
import { makeServer, OpenStackProvider } from '../../../../src/plugins/providers/openstack/openstack.js';
import { novaTags } from '../../../../src/plugins/providers/openstack/machines.js';
import { flavor, image, imageId, recorded, secret, startCloud, type Cloud } from './support/cloud.js';

const quiet = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
let cloud: Cloud;
let count = 0;
beforeAll(async () => {
  cloud = await startCloud();
});
beforeEach(() => {
  cloud.quota = 100;
});
afterAll(() => cloud.close());

const account = (more: JsonObject = {}): JsonObject => ({
  authUrl: cloud.authUrl,
  gateway: true,
  applicationCredentialId: 'credential-1',
  applicationCredentialSecret: secret,
  ...more,
});
const readFields = (fields: JsonObject) => fieldsOf<OpenStackFields>('openstack', fields, conflictsOf);
const provider = (more: JsonObject = {}): OpenStackProvider =>
  new OpenStackProvider({
    task: {
      taskId: 't',
      taskName: 'CREATE',
      clusterId: 'c',
      clusterUid: 'u',
      nodeId: 'n-1',
      incarnation: 1,
      attempt: 1,
      config: {},
      nodes: {},
      cluster: {},
      provider: { name: 'cloud', type: 'openstack', fields: {} },
    },
    log: quiet,
    signal: new AbortController().signal,
    fields: fieldsOf<JsonObject>('openstack', account(more)),
  });
const input = (incarnation = 1): CreateInput => {
  count += 1;
  const key = `0a1b2c3d-0000-4000-8000-000000000000/app-${count}/${incarnation}`;
  return {
    flavor,
    image,
    hostname: `web-app-${count}`,
    key,
    token: '',
    tags: {
      'heddle-installation': '11111111-1111-4111-8111-111111111111',
      'heddle-key': key,
      'heddle-cluster': 'web',
    },
    fields: {},
  };
};

describe('the request for a machine', () => {
  test('has tags that Nova accepts, in full in its metadata', () => {
    const { tags } = input();
    const words = novaTags(tags);
    expect(words).toEqual([
      'heddle-installation=11111111-1111-4111-8111-111111111111',
      expect.stringMatching(/^heddle-key=[0-9a-f]{49}$/),
      'heddle-cluster=web',
    ]);
    expect(words.every((word) => word.length <= 60 && !/[/,]/.test(word))).toBe(true);
    expect(makeServer(input(), readFields(account()), { flavorRef: 'f', imageRef: 'i' })).toMatchObject({
      metadata: { 'heddle-cluster': 'web' },
    });
  });

  test('contains zone, key pair, groups, drive, volume and host key from the fields', () => {
    const fields = readFields(
      account({
        zones: ['a', 'b'],
        keyName: 'k',
        securityGroups: ['ssh'],
        configDrive: true,
        rootVolumeGb: 20,
        hostKeySecret: 'a secret of a test that is long enough',
      }),
    );
    const kind = { flavorRef: 'f', imageRef: 'i' };
    expect(
      ['app-1/1', 'app-1/2', 'app-1/3', 'app-2/1', 'app-2/2'].map(
        (key) =>
          (makeServer({ ...input(), key: `u/${key}` }, fields, kind) as JsonObject)['availability_zone'],
      ),
    ).toEqual(['a', 'b', 'a', 'b', 'a']);
    expect(makeServer(input(), fields, kind)).toMatchObject({
      key_name: 'k',
      security_groups: [{ name: 'ssh' }],
      config_drive: true,
      metadata: { 'heddle-host-key': expect.stringMatching(/^ssh-ed25519 /) as string },
      block_device_mapping_v2: [
        {
          uuid: 'i',
          source_type: 'image',
          destination_type: 'volume',
          volume_size: 20,
          delete_on_termination: true,
        },
      ],
    });
    expect(makeServer(input(), fields, kind)).not.toHaveProperty('imageRef');
  });
});

describe('recorded refusals', () => {
  test.each([
    ['create refused for the quota', 'Quota'],
    ['create refused for its flavor', 'Invalid'],
    ['create refused for its image', 'Invalid'],
    ['create refused for its zone', 'Invalid'],
    ['create refused for its key pair', 'Invalid'],
    ['token refused', 'Auth'],
    ['token unknown to nova', 'Auth'],
  ])('%s is %s', (name, kind) => {
    const { status, body } = recorded(name);
    expect(
      refusal({ status, json: body, headers: {} }, { method: 'POST', url: 'http://cloud/v2.1/servers' }),
    ).toMatchObject({ kind, message: expect.stringContaining(`refused (${status})`) as string });
  });

  test.each([
    [
      403,
      { forbidden: { message: "Policy doesn't allow os_compute_api:servers:create to be performed." } },
      'Auth',
    ],
    [500, { computeFault: { message: 'Unexpected API Error' } }, 'Retryable'],
    [409, { NeutronError: { message: 'No more IP addresses available on network x.' } }, 'Capacity'],
    [409, { NeutronError: { message: "Quota exceeded for resources: ['port']." } }, 'Quota'],
    [413, { overLimit: { message: 'slowly' } }, 'Retryable'],
  ])('and %i %j is %s', (status, body, kind) => {
    expect(
      refusal(
        { status, json: body, headers: { 'retry-after': '3' } },
        { method: 'POST', url: 'http://cloud/x' },
      ),
    ).toMatchObject({ kind, retryAfterMs: 3_000 });
  });
});

describe('an account', () => {
  test('logs in once for many calls, and again when its token expires', async () => {
    await provider().list({ 'heddle-cluster': 'none' });
    const before = cloud.calls.length;
    await provider().list({ 'heddle-cluster': 'none' });
    expect(cloud.calls.slice(before)).toEqual([
      'GET /v2.0/ports',
      'GET /v2.0/floatingips',
      'GET /v2.1/servers/detail',
    ]);
    cloud.revoke();
    expect(await provider().list({ 'heddle-cluster': 'none' })).toEqual([]);
    expect(cloud.calls.slice(before + 3)).toEqual([
      'GET /v2.0/ports',
      'POST /v3/auth/tokens',
      'GET /v2.0/ports',
      'GET /v2.0/floatingips',
      'GET /v2.1/servers/detail',
    ]);
  });

  test.each<readonly [JsonObject, RegExp]>([
    [{ applicationCredentialSecret: null, applicationCredentialId: null }, /applicationCredential/],
    [{ authUrl: 'cloud' }, /authUrl: .*Such as https:/],
    [{ username: 'u' }, /not both/],
  ])('with %j is refused', (more, words) => {
    expect(() => readFields(account(more))).toThrow(words);
  });

  test('is refused in a region that the catalogue lacks, with the service', async () => {
    await expect(provider({ region: 'Mars' }).list({})).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('no public endpoint of the service compute in region Mars') as string,
    });
  });
});

describe('a machine', () => {
  test('over the quota is distinguished from a forbidden one, and creates nothing', async () => {
    cloud.quota = 0;
    const asked = input();
    await expect(provider().create(asked)).rejects.toMatchObject({ kind: 'Quota' });
    expect(await provider().find(asked.key)).toEqual([]);
  });

  test('of an unknown image is refused by its name', async () => {
    await expect(provider().create({ ...input(), image: 'nothing' })).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('image nothing does not exist') as string,
    });
  });

  test.each(['POST /v2.0/floatingips', 'POST /v2.1/servers'])(
    'whose CREATE is cut at %s is listed by its port, and DELETE leaves no part of it',
    async (cutAt) => {
      const asked = input();
      const floats = { floatingNetwork: 'public', networks: ['net-1'] };
      cloud.cutAt = cutAt;
      await expect(provider(floats).create(asked)).rejects.toMatchObject({ kind: 'Retryable' });
      cloud.cutAt = undefined;
      const [port = ''] = cloud.ports.keys();
      const listed = await provider().list({ 'heddle-key': asked.key });
      expect(listed).toMatchObject([
        { providerid: `port:${port}`, state: 'failed', key: asked.key, tags: { 'heddle-cluster': 'web' } },
      ]);
      expect(await provider().find(asked.key)).toEqual([]);
      // The fields of the sweep are those of the account, which need not name the network.
      await provider().delete({ ...asked, providerid: listed[0]?.providerid });
      expect([cloud.ports.size, cloud.floating.size]).toEqual([0, 0]);
    },
  );

  test('loses its address too if an earlier release made that without tags', async () => {
    const asked = input();
    const floats = { floatingNetwork: 'public', networks: ['net-1'] };
    const { result } = await provider(floats).create(asked);
    const machine = { ...asked, providerid: String(result?.['providerid'] as string) };
    for (const [id, address] of cloud.floating) cloud.floating.set(id, { ...address, description: '' });
    await expect(provider(floats).delete(machine)).rejects.toMatchObject({ kind: 'NotReady' });
    await provider(floats).delete(machine);
    expect([cloud.servers.size, cloud.ports.size, cloud.floating.size]).toEqual([0, 0, 0]);
  });

  test('whose DELETE is cut goes on at the next part, also when somebody deleted the port', async () => {
    const asked = input();
    const floats = { floatingNetwork: 'public', networks: ['net-1'] };
    const { result } = await provider(floats).create(asked);
    const machine = { ...asked, providerid: String(result?.['providerid'] as string) };
    await expect(provider(floats).delete(machine)).rejects.toMatchObject({ kind: 'NotReady' });
    const [floating = ''] = cloud.floating.keys();
    cloud.cutAt = `DELETE /v2.0/floatingips/${floating}`;
    await expect(provider(floats).delete(machine)).rejects.toMatchObject({ kind: 'Retryable' });
    cloud.cutAt = undefined;
    cloud.ports.clear();
    expect(await provider().list({ 'heddle-key': asked.key })).toMatchObject([
      { providerid: `floating-address:${floating}` },
    ]);
    await provider(floats).delete(machine);
    expect([cloud.servers.size, cloud.floating.size]).toEqual([0, 0]);
  });

  test('counts towards the quota of its project, in which -1 is not a limit', async () => {
    const before = await provider().quota({ flavors: [flavor, 'no-such-flavor'] });
    expect(before).toMatchObject({
      limits: { nodes: 100, memory: 51_200 },
      sizes: { [flavor]: { cores: 2, memory: 2_048 } },
    });
    await provider().create(input());
    const after = await provider().quota({ flavors: [] });
    expect(after.used['nodes']).toBe((before.used['nodes'] ?? 0) + 1);
    expect(after.sizes).toEqual({});
  });

  test('that ended in error is a failed machine, with the reason', async () => {
    const asked = input();
    const { result } = await provider().create(asked);
    const providerid = String(result?.['providerid'] as string);
    const fault = { message: 'Exceeded maximum number of retries' };
    cloud.servers.set(providerid, { ...cloud.servers.get(providerid), status: 'ERROR', fault });
    await expect(provider().confirm({ ...asked, providerid })).rejects.toMatchObject({
      kind: 'MachineFailed',
      message: expect.stringContaining('Exceeded maximum number of retries') as string,
    });
  });

  test('that failed has a reason', async () => {
    const server = detailsSchema.parse(recorded('server').body).server;
    expect(addressOf({ ...server, addresses: {} }, readFields(account()))).toBeUndefined();
    expect(addressOf(server, readFields(account()))).toMatch(/^192\.0\.2\./);
  });

  test('over the quota leaves no port and no floating address behind', async () => {
    cloud.quota = 0;
    await expect(
      provider({ floatingNetwork: 'public', networks: ['net-1'] }).create(input()),
    ).rejects.toMatchObject({ kind: 'Quota' });
    expect([cloud.ports.size, cloud.floating.size]).toEqual([0, 0]);
    expect(cloud.calls.slice(-12)).toContain('POST /v2.0/floatingips');
  });

  test('with a floating address is a port, an address and a server, each created once and all deleted', async () => {
    const floats = {
      floatingNetwork: 'public',
      networks: ['net-1', 'net-2'],
      hostKeySecret: 'a secret of a test that is long enough',
    };
    const asked = input();
    const { result } = await provider(floats).create(asked);
    const machine = { ...asked, providerid: String(result?.['providerid'] as string) };
    expect([cloud.ports.size, cloud.floating.size]).toEqual([1, 1]);
    const [port = ''] = cloud.ports.keys();
    expect(cloud.asked.at(-1)).toMatchObject({ networks: [{ port }, { uuid: 'net-2' }] });
    await expect(provider(floats).confirm(machine)).rejects.toMatchObject({ kind: 'NotReady' });
    expect(await provider(floats).confirm(machine)).toMatchObject({
      result: { ipaddress: '198.51.100.7', 'ssh-host-key': expect.stringMatching(/^ssh-ed25519 /) as string },
    });
    // A repeated CREATE continues with what is there.
    expect(await provider(floats).create(asked)).toEqual({ result });
    expect([cloud.ports.size, cloud.floating.size]).toEqual([1, 1]);
    await expect(provider(floats).delete(machine)).rejects.toMatchObject({
      kind: 'NotReady',
      message: expect.stringContaining('server') as string,
    });
    expect(cloud.floating.size).toBe(1);
    await provider(floats)
      .confirm(machine)
      .catch(() => undefined);
    await provider(floats).delete(machine);
    expect([cloud.servers.has(machine.providerid), cloud.ports.size, cloud.floating.size]).toEqual([
      false,
      0,
      0,
    ]);
    await provider(floats).delete(machine);
  });
});

test('a plan is told why CREATE would refuse a flavor or an image, also for an id', async () => {
  const offers = (wanted: { readonly flavor: string; readonly image: string }) => provider().offers(wanted);
  expect(await offers({ flavor, image: imageId })).toEqual({ refused: {} });
  expect(await offers({ flavor: 'huge', image: '00000000-0000-4000-8000-000000000000' })).toEqual({
    refused: {
      flavor: expect.stringMatching(
        /^flavor huge does not exist in this project; its flavors are .*heddle\.small/,
      ),
      image:
        'image 00000000-0000-4000-8000-000000000000 does not exist, is not active, or is not shared with this project',
    },
  });
});

test('an upload replaces the record that an interrupted one left, and the list names such a record', async () => {
  const order = {
    image: { name: 'web', revision: '1' },
    providerImage: 'web@1',
    token: 'token-1',
    file: import.meta.filename,
    format: 'raw',
    tags: { 'heddle-installation': 'here', 'heddle-key': 'a/upload-web-1/1' },
    progress: () => undefined,
  };
  const first = await provider().uploadImage(order);
  const left = { ...cloud.images.get(first.providerImage ?? ''), status: 'saving' };
  cloud.images.set(first.providerImage ?? '', left);
  expect(await provider().listImages({ 'heddle-installation': 'here' })).toMatchObject([
    { providerImage: first.providerImage, tags: order.tags },
  ]);
  const second = await provider().uploadImage(order);
  expect([...cloud.images.keys()]).toEqual([second.providerImage]);
  expect(await provider().uploadImage({ ...order, format: 'tar', token: 'token-2' })).toMatchObject({
    answer: 'not done',
  });
  // The token contains the account's name, which may change.
  const renamed = { ...order, token: 'token-1 of a renamed account' };
  const others = { ...renamed, tags: { ...order.tags, 'heddle-key': 'of another' } };
  expect(await provider().deleteImage(others)).toEqual({ answer: 'done' });
  expect(cloud.images.size).toBe(1);
  expect(await provider().deleteImage(renamed)).toEqual({ answer: 'done' });
  expect(cloud.images.size).toBe(0);
});
