import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { OpenStackFields } from '../../../../src/plugins/providers/openstack/field-types.js';
import { Session } from '../../../../src/plugins/providers/openstack/session.js';
import { CountedCalls } from '../../../../src/testing/attempt.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';

let cloud: Server;
let address: string;
let catalog: string;
let asked: string[];
beforeEach(async () => {
  asked = [];
  cloud = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const endpoints = [{ interface: 'public', region_id: 'r', url: catalog }];
    const token = { expires_at: '2099-01-01T00:00:00Z', catalog: [{ type: 'compute', endpoints }] };
    const isLogin = request.url === '/v3/auth/tokens';
    response
      .writeHead(isLogin ? 201 : 200, { 'x-subject-token': 'T', 'content-type': 'application/json' })
      .end(JSON.stringify(isLogin ? { token } : {}));
  });
  cloud.listen(0, '127.0.0.1');
  await once(cloud, 'listening');
  address = `http://127.0.0.1:${(cloud.address() as AddressInfo).port}`;
});
afterEach(() => cloud.close());

function read(gateway: boolean): Promise<unknown> {
  const fields = fieldsOf<OpenStackFields>('openstack', {
    authUrl: `${address}/v3`,
    gateway,
    applicationCredentialId: 'id',
    applicationCredentialSecret: 'secret',
  });
  const session = new Session(fields, new AbortController().signal, new CountedCalls());
  return session.read(z.unknown(), 'compute', { method: 'GET', path: '/servers' });
}

describe.each([false, true])('an address of the service catalog (gateway: %j)', (gateway) => {
  test.each([
    'file:///v2.1',
    'ftp://127.0.0.1/v2.1',
    'ws://127.0.0.1/v2.1',
    'data:,x',
    'mailto:a@b',
    'cloud.example.com/v2.1',
    'https://',
    'https://host:99999/v2.1',
    '/v2.1',
    '',
  ])('%j is refused with the service, and what to change', async (url) => {
    catalog = url;
    const message = `the catalog of ${address}/v3 names ${JSON.stringify(url)} for the service compute, which is not an address of HTTP. Change the public endpoint in the catalog to https://HOST:PORT/PATH`;
    await expect(read(gateway)).rejects.toMatchObject({ name: 'PluginError', kind: 'Invalid', message });
  });

  test('is shown without its credentials', async () => {
    catalog = `ftp://${['user', 'word'].join(':')}@127.0.0.1/v2.1`;
    await expect(read(gateway)).rejects.toThrow('ftp://(secret)@127.0.0.1/v2.1');
  });

  test('is used once it is corrected', async () => {
    catalog = 'file:///v2.1';
    await expect(read(gateway)).rejects.toThrow('the catalog of');
    catalog = `${address}/v2.1`;
    await read(gateway);
    await read(gateway);
    expect(asked.filter((one) => one.startsWith('POST'))).toHaveLength(2);
    expect(asked.filter((one) => one === 'GET /v2.1/servers')).toHaveLength(2);
  });
});
