import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  JsonApi,
  notReady,
  PluginError,
  requireRunning,
  textIn,
  type Machine,
} from '../../../src/plugins/index.js';

describe('a client of a JSON API', () => {
  let server: Server;
  let address = '';
  const seen: string[] = [];
  let taken = 0;
  const answers: Record<string, readonly [status: number, body: string, headers?: Record<string, string>]> = {
    'GET /one': [200, '{"id": 7, "name": "a"}'],
    'GET /absent': [404, '{"error": {"message": "no such thing"}}'],
    'GET /nothing': [404, ''],
    'DELETE /one': [204, ''],
    'GET /page': [404, '<html>Not found</html>'],
    'GET /gone': [410, '{"id": "x"}'],
    'GET /text': [200, 'hello'],
    'GET /busy': [429, '{"error": {"message": "slow down"}}', { 'retry-after': '3' }],
    'GET /secret': [403, '{"message": "not yours"}'],
    'POST /full': [409, '{"error": {"code": "Full", "message": "no room"}}'],
    'GET /broken': [502, '<html>'],
    'GET /moved': [302, '', { location: 'http://127.0.0.1:1/' }],
    'GET /list?page=': [200, '{"things": [{"id": 1}, {"id": 2}], "next": "b"}'],
    'GET /list?page=b': [200, '{"things": [{"id": 3}]}'],
    'GET /list?page=odd': [200, '{"things": [1]}'],
    'GET /away': [200, '{"things": [], "next": "http://127.0.0.1:1/list"}'],
  };
  beforeAll(async () => {
    server = createServer((request: IncomingMessage, response) => {
      const name = `${request.method ?? ''} ${request.url ?? ''}`;
      seen.push(`${name} ${request.headers.authorization ?? ''}`);
      const [status, body, headers] = answers[name] ?? [500, '{}'];
      response.writeHead(status, headers).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  const api = (): JsonApi =>
    new JsonApi({
      server: address,
      headers: { authorization: 'Bearer key' },
      signal: new AbortController().signal,
      calls: { take: async () => void (taken += 1) } as never,
      kinds: { Full: 'Capacity' },
    });

  it('returns what it was sent, and absence, within the rate limit', async () => {
    expect(await api().call('GET', '/one')).toEqual({ status: 200, body: { id: 7, name: 'a' } });
    expect(await api().call('GET', '/absent')).toMatchObject({ status: 404 });
    expect(await api().call('GET', '/nothing')).toEqual({ status: 404, body: {} });
    expect(await api().call('DELETE', '/one')).toEqual({ status: 204, body: {} });
    expect(await api().call('GET', '/gone')).toEqual({ status: 410, body: { id: 'x' } });
    expect(seen.slice(0, 3).every((call) => call.endsWith('Bearer key'))).toBe(true);
    expect(taken).toBe(5);
  });

  it.each([
    ['GET', '/text', 'Retryable', 'is not JSON'],
    ['GET', '/page', 'Retryable', 'is not JSON'],
    ['GET', '/busy', 'Retryable', 'was refused (429): slow down'],
    ['GET', '/secret', 'Auth', 'was refused (403): not yours'],
    ['POST', '/full', 'Capacity', 'was refused (409 Full): no room'],
    ['GET', '/broken', 'Retryable', 'was refused (502): no reason given'],
    ['GET', '/moved', 'Retryable', 'unexpected redirect'],
  ])('%s %s fails as %s', async (method, path, kind, text) => {
    await expect(api().call(method, path)).rejects.toMatchObject({
      kind,
      message: expect.stringContaining(text),
    });
  });

  it('passes on how long the server asks to wait', async () => {
    await expect(api().call('GET', '/busy')).rejects.toMatchObject({ retryAfterMs: 3_000 });
  });

  it('reads all pages of a list, and follows no link to another server', async () => {
    const next = ({ next: page }: { readonly next?: unknown }): string | undefined =>
      typeof page === 'string' ? (page.startsWith('http') ? page : `/list?page=${page}`) : undefined;
    expect(await api().pages('/list?page=', 'things', next)).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    await expect(api().pages('/list?page=odd', 'things', next)).rejects.toMatchObject({ kind: 'Invalid' });
    await expect(api().pages('/one', 'things', next)).rejects.toThrow('has no list things');
    await expect(api().pages('/away', 'things', next)).rejects.toMatchObject({ kind: 'Invalid' });
  });

  it('reads texts and numbers of a response', () => {
    expect([textIn({ id: 7 }, 'id'), textIn({ id: 'x' }, 'id')]).toEqual(['7', 'x']);
    expect(() => textIn({}, 'id')).toThrow('without id');
  });
});

describe('CONFIRM of a machine', () => {
  const check = (state: Machine['state'], why?: string): unknown => {
    try {
      requireRunning({ what: 'machine m-1', state, why }, 500);
      return undefined;
    } catch (error) {
      return error;
    }
  };

  it.each([
    ['starting', undefined, 'NotReady', 'machine m-1 is starting'],
    ['stopped', 'by its user', 'NotReady', 'machine m-1 is switched off: by its user'],
    ['failed', undefined, 'MachineFailed', 'machine m-1 failed: no reason given. Replace the node.'],
    ['failed', 'No valid host', 'MachineFailed', 'machine m-1 failed: No valid host. Replace the node.'],
    ['deleting', undefined, 'MachineFailed', 'machine m-1 is being deleted. Replace the node.'],
    ['gone', undefined, 'MachineFailed', 'machine m-1 was deleted. Replace the node.'],
  ] as const)('that is %s (%s) fails as %s', (state, why, kind, message) => {
    expect(check(state, why)).toMatchObject({ kind, message });
  });

  it('that runs succeeds', () => {
    expect(check('running')).toBeUndefined();
  });

  it('is repeated after the given delay while it may come to run', () => {
    expect(check('starting')).toMatchObject({ retryAfterMs: 500 });
    expect(notReady('later', 100)).toBeInstanceOf(PluginError);
  });
});
