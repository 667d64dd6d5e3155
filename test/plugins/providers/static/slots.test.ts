import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';
import { machineFaults } from '../../../../src/plugins/providers/static/machines.js';
import { StaticProvider } from '../../../../src/plugins/providers/static/static.js';
import { createClaims } from '../../../../src/testing/attempt.js';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

function account(fields: JsonObject) {
  const claims = createClaims();
  const provider = () =>
    new StaticProvider({
      task: {
        taskId: 't',
        taskName: 'CREATE',
        clusterId: 'web',
        clusterUid: 'u',
        nodeId: 'app-1',
        incarnation: 1,
        attempt: 1,
        config: {},
        nodes: {},
        cluster: {},
        provider: { name: 'rack', type: 'static', fields: {} },
      },
      log: silent,
      signal: new AbortController().signal,
      fields: fieldsOf<JsonObject>('static', fields, machineFaults),
      claims,
    });
  const create = async (key: string) =>
    (
      await provider().create({
        key,
        flavor: 'f',
        image: 'i',
        hostname: 'h',
        fields: {},
        token: '',
        tags: {},
      })
    ).result?.['providerid'];
  return { provider, create, claims };
}

describe('slots', () => {
  const machines: readonly JsonObject[] = [
    { name: 'one', address: '192.0.2.1', slots: 3 },
    { name: 'two', address: '192.0.2.2' },
  ];

  test('put several nodes on a machine, after each machine has one', async () => {
    const { create } = account({ machines, slots: 2 });
    expect(await Promise.all(['a', 'b', 'c', 'd', 'e'].map(create))).toEqual([
      'one',
      'two',
      'one#2',
      'two#2',
      'one#3',
    ]);
    await expect(create('f')).rejects.toMatchObject({ kind: 'Quota' });
  });

  test('are the quota of the account, which is used up when all are taken', async () => {
    const { provider, create } = account({
      machines: [
        { name: 'one', address: '192.0.2.1', slots: 2, flavor: 'f' },
        { name: 'two', address: '192.0.2.2', flavor: 'other' },
      ],
    });
    for (const key of ['a', 'b']) await create(key);
    expect(await provider().quota()).toEqual({ limits: { nodes: 3 }, used: { nodes: 2 } });
    expect((await provider().offers({ flavor: 'f', image: 'i' })).free).toEqual({
      all: 1,
      ofKind: 0,
      machines: [],
    });
    expect((await provider().offers({ flavor: 'other', image: 'i' })).free).toEqual({
      all: 1,
      ofKind: 1,
      machines: ['two'],
    });
    await expect(create('c')).rejects.toMatchObject({ kind: 'Capacity' });
    expect(
      await provider().create({
        key: 'd',
        flavor: 'other',
        image: 'i',
        hostname: 'h',
        fields: {},
        token: '',
        tags: {},
      }),
    ).toMatchObject({ result: { providerid: 'two' } });
    await expect(create('c')).rejects.toMatchObject({ kind: 'Quota' });
  });

  test('are confirmed, listed, found and freed one by one', async () => {
    const { provider, create } = account({ machines });
    for (const key of ['a', 'b', 'c']) await create(key);
    expect(await provider().confirm({ key: 'c', providerid: 'one#2', tags: {}, fields: {} })).toMatchObject({
      result: { ipaddress: '192.0.2.1' },
    });
    expect(await provider().find('c')).toMatchObject([
      {
        providerid: 'one#2',
        address: '192.0.2.1',
        created: { providerid: 'one#2', 'ssh-auth': { user: 'root' } },
      },
    ]);
    await provider().delete({ key: 'a', tags: {}, fields: {} });
    expect((await provider().list({})).map(({ providerid }) => providerid)).toEqual(['two', 'one#2']);
    expect(await create('d')).toBe('one');
  });
});

describe('liveness', () => {
  const servers = [
    createServer((socket) => socket.end('SSH-2.0-test\r\n')),
    createServer((socket) => socket.end('HTTP/1.1 400\r\n\r\n')),
  ];
  let ports: readonly number[];
  beforeAll(async () => {
    ports = await Promise.all(
      servers.map(async (server) => {
        server.listen(0, '127.0.0.1');
        await once(server, 'listening');
        return (server.address() as AddressInfo).port;
      }),
    );
  });
  afterAll(() => servers.forEach((server) => server.close()));
  // Nobody listens on port 1 of loopback.
  const machines = () => [
    { name: 'dead', address: '127.0.0.1', port: 1 },
    { name: 'web', address: '127.0.0.1', port: ports[1] ?? 0 },
    { name: 'live', address: '127.0.0.1', port: ports[0] ?? 0 },
  ];

  test('skips machines without an SSH server that answers, and reports it if there is no other', async () => {
    const { create } = account({ machines: machines(), liveness: 'ssh' });
    expect(await create('a')).toBe('live');
    expect(await create('a')).toBe('live');
    await expect(create('b')).rejects.toMatchObject({
      kind: 'Capacity',
      message: expect.stringMatching(
        /2 machines of provider rack are free, but none of their SSH servers answers.*dead, web/,
      ) as string,
    });
  });

  test('gives concurrent requests slots of their own', async () => {
    const { create } = account({ machines: machines(), slots: 100, liveness: 'ssh' });
    const given = await Promise.all(Array.from({ length: 100 }, (_, index) => create(`k${index}`)));
    expect(new Set(given).size).toBe(100);
    await expect(create('more')).rejects.toMatchObject({ kind: 'Capacity' });
  });

  test('is checked only on request', async () => {
    expect(await account({ machines: machines() }).create('a')).toBe('dead');
  });
});
