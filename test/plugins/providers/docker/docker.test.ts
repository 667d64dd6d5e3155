import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.js';
import { readSingleFile } from '../../../../src/plugins/providers/docker/container.js';
import { containerName, makeContainer } from '../../../../src/plugins/providers/docker/container.js';
import { DockerProvider } from '../../../../src/plugins/providers/docker/docker.js';
import type { DockerFields } from '../../../../src/plugins/providers/docker/field-types.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';
import { detailsSchema, machineOf, placeOf } from '../../../../src/plugins/providers/docker/machines.js';

const readFields = (fields: JsonObject) => fieldsOf<DockerFields>('docker', fields);
const input = {
  flavor: 'any',
  image: 'node',
  hostname: 'web-app-1',
  key: 'uid/app-1/1',
  token: '',
  tags: { 'heddle-key': 'uid/app-1/1' },
  fields: {},
};

describe('the requested container', () => {
  test('carries tags, public keys, and the SSH server as its command', () => {
    const body = makeContainer(
      input,
      readFields({ publicKeys: ['ssh-ed25519 AAAA me'], environment: { LANG: 'C', DEPTH: 3 } }),
    ) as JsonObject;
    expect(body).toMatchObject({
      Hostname: 'web-app-1',
      Image: 'node',
      Labels: input.tags,
      Env: ['LANG=C', 'DEPTH=3', 'HEDDLE_PUBLIC_KEYS=ssh-ed25519 AAAA me'],
      HostConfig: { Init: true },
    });
    expect(JSON.stringify(body)).not.toContain('PortBindings');
    expect(makeContainer(input, readFields({ command: ['/start'] }))).toMatchObject({ Cmd: ['/start'] });
  });

  test('is published only on loopback if it is reached there', () => {
    const bindings = (address: string) =>
      (
        makeContainer(input, readFields({ reachBy: 'port', address })) as {
          readonly HostConfig: { readonly PortBindings: unknown };
        }
      ).HostConfig.PortBindings;
    expect(bindings('127.0.0.1')).toEqual({ '22/tcp': [{ HostIp: '127.0.0.1', HostPort: '' }] });
    expect(bindings('docker.example.com')).toEqual({ '22/tcp': [{ HostIp: '', HostPort: '' }] });
  });

  test('has one name for a key', () => {
    expect(containerName('uid/app-1/1')).toMatch(/^heddle-[0-9a-f]{32}$/);
    expect(new Set(['uid/app-1/1', 'uid/app-1/2', 'uid/app-2/1'].map(containerName)).size).toBe(3);
  });

  test.each<readonly [string, object]>([
    ['any', {}],
    ['2x1g', { NanoCpus: 2e9, Memory: 1024 ** 3 }],
    ['0.5x512m', { NanoCpus: 5e8, Memory: 512 * 1024 ** 2 }],
  ])('of flavor %s has its limits', (flavor, limits) => {
    expect(makeContainer({ ...input, flavor }, readFields({}))).toMatchObject({ HostConfig: limits });
  });

  test.each(['small', '0x1g', '2x0m', '2x1t', '-1x1g', '1e9x1g'])('of flavor %s is refused', (flavor) => {
    expect(() => makeContainer({ ...input, flavor }, readFields({}))).toThrow(
      /flavor .* use processors and memory/,
    );
  });
});

test.each<readonly [JsonObject, RegExp]>([
  [{ endpoint: 'ftp://host' }, /endpoint: "ftp:\/\/host" does not match .*URL of the API/],
  [{ endpoint: 'docker.sock' }, /endpoint: .* is not an address|endpoint: .*URL of the API/],
  [{ cert: 'x' }, /key: is missing\. It is required when cert is given/],
  [{ publicKeys: ['a\nb'] }, /publicKeys\[0\]: .*one line/],
  [{ environment: { A: [1] } }, /environment\.A/],
])('fields %j are refused with their place', (fields, words) => {
  expect(() => readFields(fields)).toThrow(words);
});

describe('a container as the daemon shows it', () => {
  const show = (Status: string, NetworkSettings: object = {}) =>
    detailsSchema.parse({
      Id: 'abc',
      Created: '2026-11-21T18:49:03.9Z',
      State: { Status },
      Config: { Labels: null },
      NetworkSettings,
    });

  test.each([
    ['created', 'starting'],
    ['configured', 'starting'],
    ['running', 'running'],
    ['paused', 'stopped'],
    ['exited', 'stopped'],
    ['dead', 'failed'],
    ['removing', 'deleting'],
  ])('%s is %s', (status, state) => {
    expect(machineOf(show(status), readFields({})).state).toBe(state);
  });

  test('in an unknown state is not interpreted', () => {
    expect(() => machineOf(show('melting'), readFields({}))).toThrow(/melting/);
  });

  test('is reached in the requested network, or by its port', () => {
    const networks = show('running', {
      IPAddress: '',
      Networks: { one: { IPAddress: '10.0.0.2' }, two: { IPAddress: '10.1.0.2' } },
      Ports: { '22/tcp': [{ HostPort: '40022' }] },
    });
    expect(placeOf(networks, readFields({}))).toEqual({ host: '10.0.0.2', port: 22 });
    expect(placeOf(networks, readFields({ network: 'two' }))).toEqual({ host: '10.1.0.2', port: 22 });
    expect(placeOf(networks, readFields({ reachBy: 'port' }))).toEqual({ host: '127.0.0.1', port: 40_022 });
    expect(placeOf(show('created'), readFields({}))).toBeUndefined();
  });
});

test('the one file of an archive is read, and nothing else', () => {
  const header = Buffer.alloc(512);
  header.write('file', 0);
  header.write('00000000005\0', 124);
  header.write('0', 156);
  expect(
    readSingleFile(Buffer.concat([header, Buffer.from('hello'.padEnd(512, '\0')), Buffer.alloc(1024)])),
  ).toBe('hello');
  expect(readSingleFile(Buffer.alloc(1024))).toBeUndefined();
  expect(readSingleFile(Buffer.from('<html>'))).toBeUndefined();
});

describe('the server at the endpoint', () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.close();
  });

  async function answering(
    status: number,
    body: string,
    headers: Readonly<Record<string, string>> = {},
    decide: (path: string) => readonly [number, string] = () => [status, body],
  ): Promise<DockerProvider> {
    server?.close();
    server = createServer((incoming, answer) => {
      const [code, text] = decide((incoming.url ?? '').replace(/\?.*/, ''));
      incoming
        .resume()
        .on('end', () => answer.writeHead(code, { connection: 'close', ...headers }).end(text));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new DockerProvider({
      task: {
        taskId: 't',
        taskName: 'DELETE',
        clusterId: 'c',
        clusterUid: 'u',
        nodeId: 'n-1',
        incarnation: 1,
        attempt: 1,
        config: {},
        nodes: {},
        cluster: {},
        provider: { name: 'here', type: 'docker', fields: {} },
      },
      log: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
      signal: new AbortController().signal,
      fields: fieldsOf<JsonObject>('docker', {
        endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      }),
    });
  }
  const machine = { providerid: 'abc', key: 'uid/app-1/1', tags: {}, fields: {} };
  const docker = { 'api-version': '1.43' };

  test('is believed that a container is gone only if it is Docker', async () => {
    await expect(
      (await answering(404, '{"message": "No such container: abc"}', docker)).delete(machine),
    ).resolves.toBeUndefined();
    await expect((await answering(404, '<html>Not found</html>')).delete(machine)).rejects.toMatchObject({
      kind: 'Retryable',
      message: expect.stringContaining('something other than Docker') as string,
    });
    await expect((await answering(200, '[]')).list({})).rejects.toMatchObject({ kind: 'Retryable' });
    expect(await (await answering(200, '[]', docker)).list({})).toEqual([]);
  });

  test('has the memory of its host as quota, of which running containers use their limits', async () => {
    const mib = 1024 ** 2;
    const answers: Readonly<Record<string, unknown>> = {
      '/v1.40/info': { MemTotal: 4_096 * mib, NCPU: 2 },
      '/v1.40/containers/json': [{ Id: 'a' }, { Id: 'b' }, { Id: 'gone' }],
      '/v1.40/containers/a/json': { HostConfig: { Memory: 1_024 * mib } },
      '/v1.40/containers/b/json': { HostConfig: { Memory: 0 } },
    };
    const provider = await answering(0, '', docker, (path) =>
      answers[path] === undefined
        ? [404, '{"message": "No such container"}']
        : [200, JSON.stringify(answers[path])],
    );
    expect(await provider.quota({ flavors: ['0.5x512m', 'any', 'odd'] })).toEqual({
      limits: { memory: 4_096 },
      used: { memory: 1_024 },
      sizes: { '0.5x512m': { cores: 0.5, memory: 512 } },
    });
  });

  test.each([
    ['dead', 0],
    ['exited', 1],
  ])('that shows a container as %s with exit code %i, shows a failed machine', async (status, code) => {
    const details = {
      Id: 'abc',
      Created: '2026-11-24T00:00:00Z',
      State: { Status: status, ExitCode: code },
      Config: { Labels: { 'heddle-key': machine.key } },
      NetworkSettings: { IPAddress: '', Ports: {}, Networks: {} },
    };
    await expect(
      (await answering(200, JSON.stringify(details), docker)).confirm(machine),
    ).rejects.toMatchObject({ kind: 'MachineFailed' });
  });

  test.each([
    [404, 'No such image: node:1', 'Invalid'],
    [500, 'unable to find network with name or ID x: network not found', 'Invalid'],
    [500, 'write /x: no space left on device', 'Capacity'],
    [500, 'something broke', 'Retryable'],
    [503, 'busy', 'Retryable'],
    [429, 'slowly', 'Retryable'],
    [403, 'no', 'Auth'],
    [400, 'bad parameter', 'Invalid'],
  ])('that answers %i %s, is %s', async (status, message, kind) => {
    await expect(
      (await answering(status, JSON.stringify({ message }), docker)).create(input),
    ).rejects.toMatchObject({ kind, message: expect.stringContaining(message) as string });
  });

  test.each([409, 500])(
    "that answers %i for a taken name, is asked for that container, which must be the key's own",
    async (status) => {
      const name = `/v1.40/containers/${containerName(input.key)}/json`;
      const of = (key: string) => ({
        Id: 'abc',
        Created: '',
        State: { Status: 'created' },
        Config: { Labels: { 'heddle-key': key } },
        NetworkSettings: {},
      });
      const taken = (key: string) =>
        answering(0, '', docker, (path) =>
          path === name
            ? [200, JSON.stringify(of(key))]
            : path.endsWith('/start')
              ? [204, '']
              : [status, '{"message": "the container name is already in use"}'],
        );
      await expect((await taken(input.key)).create(input)).resolves.toEqual({
        result: { providerid: 'abc', 'ssh-auth': { user: 'root' } },
      });
      await expect((await taken('other')).create(input)).rejects.toMatchObject({
        kind: 'Invalid',
        message: expect.stringContaining('has the key other') as string,
      });
    },
  );

  test('without a free address for a new container removes it again', async () => {
    const calls: string[] = [];
    const provider = await answering(0, '', docker, (path) => {
      calls.push(path.replace('/v1.40', ''));
      return path.endsWith('/create')
        ? [201, '{"Id": "abc"}']
        : path.endsWith('/start')
          ? [500, '{"message": "no available IPv4 addresses on this network"}']
          : [204, ''];
    });
    await expect(provider.create(input)).rejects.toMatchObject({ kind: 'Capacity' });
    expect(calls).toEqual(['/containers/create', '/containers/abc/start', '/containers/abc']);
  });

  test('is asked again during a removal', async () => {
    const container = {
      Id: 'abc',
      Created: '',
      State: { Status: 'running' },
      Config: { Labels: { 'heddle-key': machine.key } },
      NetworkSettings: {},
    };
    const removing = '{"message": "removal of container abc is already in progress"}';
    const provider = await answering(0, '', docker, (path) =>
      path.endsWith('/json') ? [200, JSON.stringify(container)] : [409, removing],
    );
    await expect(provider.delete(machine)).rejects.toMatchObject({ kind: 'NotReady' });
  });
});
