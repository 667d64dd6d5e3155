import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callSigned } from '../../../src/plugins/providers/aws/signed-call.js';
import { openBucket } from '../../../src/store/s3/bucket.js';

/** Serves every request with this status, and sends it to another place if that is given. */
async function listen(status: number, location?: string): Promise<Server & { readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    request.resume();
    asked.push(`${request.method} ${request.headers.authorization}`);
    response.writeHead(status, location === undefined ? {} : { location }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(server, { asked });
}

const addressOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const credentials = { accessKeyId: 'AKIA', secretAccessKey: 'secret' };

let thief: Awaited<ReturnType<typeof listen>>;
let store: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => {
  thief = await listen(200);
  store = await listen(307, `${addressOf(thief)}/elsewhere`);
});
afterAll(() => {
  thief.close();
  store.close();
});

// Promise: redirects-stay
it('an object store redirects no signed request to another server', async () => {
  const settings = { endpoint: addressOf(store), bucket: 'logs', region: 'eu-central-1', prefix: '' };
  const bucket = openBucket(settings, async () => credentials);
  for (const use of [() => bucket.list(''), () => bucket.put('a', Buffer.from('content'))])
    await expect(use()).rejects.toThrow(`redirects to ${addressOf(thief)}/elsewhere`);
  expect([store.asked.length, thief.asked]).toEqual([2, []]);
});

// Promise: redirects-stay
it('an API of AWS redirects no signed request to another server', async () => {
  store.asked.length = 0;
  const fields = { region: 'eu-central-1', endpoint: addressOf(store) };
  const call = {
    service: 'ebs',
    method: 'POST',
    path: '/snapshots',
    headers: {},
    body: '{}',
    what: 'ebs',
  } as const;
  await expect(callSigned(fields, credentials, call, new AbortController().signal)).rejects.toThrow();
  expect([store.asked.length, thief.asked]).toEqual([1, []]);
});
