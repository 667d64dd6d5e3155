import { request } from 'node:http';
import type { Payload } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMessage } from '../../src/model/messages/envelope.js';
import { EncryptionCodec } from '../../src/secrets/codec.js';
import { startCodecServer, type CodecServer } from '../../src/secrets/codec-server.js';
import { formatKeys, generateKey } from '../../src/secrets/key-document.js';
import { parseKeyRing } from '../../src/secrets/keys.js';
import { formatPayloads, parsePayloads } from '../../src/secrets/payload-json.js';

const origin = 'http://127.0.0.1:8233';
const key = generateKey();
const keyRing = parseKeyRing(formatKeys({ current: key.id, keys: [key] }), 'the test');
const hello = {
  metadata: { encoding: Buffer.from('json/plain').toString('base64') },
  data: Buffer.from('"hello"').toString('base64'),
};
const body = JSON.stringify({
  payloads: [hello, { metadata: { encoding: Buffer.from('binary/null').toString('base64') } }],
});
let server: CodecServer;
let open: CodecServer;

beforeAll(async () => {
  server = await startCodecServer({
    keyRing,
    port: 0,
    origins: [origin],
    token: 's3cret/token',
    namespaces: ['blue', 'green', 'default'],
  });
  open = await startCodecServer({ keyRing, port: 0, origins: [origin], namespaces: ['own'] });
});
afterAll(async () => {
  await server.stop();
  await open.stop();
});

describe('a codec server', () => {
  it('encrypts and decrypts for the namespace of the request', async () => {
    const encoded = await post(server.url, '/encode', { body, namespace: 'blue' });
    expect(encoded.status).toBe(200);
    expect(encoded.text).not.toContain(hello.data);
    const decoded = await post(server.url, '/decode', { body: encoded.text, namespace: 'blue' });
    expect(JSON.parse(decoded.text)).toEqual({ payloads: [hello, jsonOf(null)] });
    const elsewhere = await post(server.url, '/decode', { body: encoded.text, namespace: 'green' });
    expect(elsewhere.status).toBe(400);
    expect(elsewhere.text).toMatch(/namespace 'green'/);
  });

  it('answers the Web UI, which adds a query to the path', async () => {
    expect((await post(server.url, '/decode?preserveStorageRefs=true', { body })).status).toBe(200);
  });

  // Promise: codec-namespaces
  it('refuses other namespaces, and requests that name none', async () => {
    const sealed = await new EncryptionCodec({ keyRing, namespace: 'other' }).encode([
      { data: Buffer.from('x') },
    ]);
    for (const [verb, sent] of [
      ['/decode', JSON.stringify(formatPayloads(sealed))],
      ['/encode', body],
    ] as const) {
      for (const namespace of ['other', 'OWN', 'own ,other', 'ow']) {
        const reply = await post(open.url, verb, { body: sent, namespace });
        expect([namespace, reply.status, reply.text]).toEqual([
          namespace,
          403,
          expect.stringContaining('does not serve'),
        ]);
      }
      const withoutNamespace: readonly Record<string, string>[] = [{ 'X-Namespace': '' }, {}];
      for (const headers of withoutNamespace) {
        const reply = await post(open.url, verb, { body: sent, namespace: null, headers });
        expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('X-Namespace')]);
      }
    }
  });

  it('opens payloads of any workflow in its namespace', async () => {
    const context = { type: 'workflow', namespace: 'own', workflowId: 'cluster/a' } as const;
    const sealed = await new EncryptionCodec({ keyRing, namespace: 'own' }).encode(
      [{ data: Buffer.from('x') }],
      context,
    );
    const decoded = await post(open.url, '/decode', {
      body: JSON.stringify(formatPayloads(sealed)),
      namespace: 'own',
    });
    expect(JSON.parse(decoded.text)).toMatchObject({ payloads: [{ data: 'eA==' }] });
  });

  // Promise: codec-messages-expire
  it('encrypts each message in an envelope with limited validity', async () => {
    const before = Date.now();
    const own = { heddle: 'update apply', args: [1, 2], until: Number.MAX_SAFE_INTEGER };
    const payloads = [
      hello,
      { metadata: { encoding: base64('binary/null') } },
      jsonOf(own),
      jsonOf([1]),
      jsonOf({ a: 1 }),
    ];
    const encoded = await post(open.url, '/encode', { body: JSON.stringify({ payloads }), namespace: 'own' });
    const codec = new EncryptionCodec({ keyRing, namespace: 'own' });
    const opened = (await codec.decode(parsePayloads(JSON.parse(encoded.text)))).map(valueOf);
    expect(opened).toMatchObject([
      { heddle: '*', args: ['hello'] },
      { heddle: '*', args: [null] },
      { heddle: 'update apply', args: [1, 2] },
      { heddle: '*', args: [[1]] },
      { heddle: '*', args: [{ a: 1 }] },
    ]);
    for (const { until } of opened as readonly { readonly until: number }[]) {
      expect(until).toBeGreaterThanOrEqual(before + 10 * 60_000);
      expect(until).toBeLessThanOrEqual(Date.now() + 10 * 60_000);
    }
    const ids = (opened as readonly { readonly id: string }[]).map(({ id }) => id);
    expect([...new Set(ids)].filter((id) => /^[\w-]{36}$/.test(id))).toHaveLength(opened.length);
    // A purpose of its own does not lengthen the validity.
    for (const envelope of [opened[0], opened[2]]) {
      expect(openMessage('update apply', [envelope], Date.now())).toMatchObject({ ok: true });
      expect(openMessage('update apply', [envelope], Date.now() + 10 * 60_000)).toMatchObject({
        ok: false,
        why: expect.stringContaining('send it again'),
      });
    }
  });

  it('refuses to encrypt a payload that is not JSON', async () => {
    const broken = { metadata: { encoding: base64('json/plain') }, data: base64('{') };
    const binary = { metadata: { encoding: base64('binary/plain') }, data: base64('x') };
    for (const payload of [broken, binary, { data: base64('"x"') }]) {
      const reply = await post(open.url, '/encode', {
        body: JSON.stringify({ payloads: [payload] }),
        namespace: 'own',
      });
      expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('JSON')]);
    }
  });

  it('shows an envelope with one argument as that argument, and any other payload unchanged', async () => {
    const codec = new EncryptionCodec({ keyRing, namespace: 'own' });
    const shown = async (value: unknown): Promise<unknown> => {
      const sealed = await codec.encode([
        { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(JSON.stringify(value)) },
      ]);
      const decoded = await post(open.url, '/decode', {
        body: JSON.stringify(formatPayloads(sealed)),
        namespace: 'own',
      });
      return valueOf(parsePayloads(JSON.parse(decoded.text))[0] ?? {});
    };
    expect(await shown({ heddle: 'update apply', args: [{ by: 'me' }] })).toEqual({ by: 'me' });
    const inner = { heddle: 'update apply', args: [1] };
    for (const kept of [
      { heddle: 'look', args: [] },
      { heddle: 'take', args: ['a', 'b'] },
      { heddle: '*', args: [inner] },
      'x',
      { args: [1] },
    ]) {
      expect(await shown(kept)).toEqual(kept);
    }
    const plaintext = jsonOf(inner);
    const reply = await post(open.url, '/decode', {
      body: JSON.stringify({ payloads: [plaintext] }),
      namespace: 'own',
    });
    expect(JSON.parse(reply.text)).toEqual({ payloads: [plaintext] });
  });

  it('shows plaintext unchanged', async () => {
    expect(JSON.parse((await post(server.url, '/decode', { body })).text)).toMatchObject({
      payloads: [hello, {}],
    });
  });

  it('names a missing key', async () => {
    const other = generateKey();
    const codec = new EncryptionCodec({
      keyRing: parseKeyRing(formatKeys({ current: other.id, keys: [other] }), 'elsewhere'),
      namespace: 'own',
    });
    const reply = await post(open.url, '/decode', {
      body: JSON.stringify(formatPayloads(await codec.encode([{ data: Buffer.from('x') }]))),
      namespace: 'own',
    });
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(other.id)]);
  });

  it('requires its token, in the header or the path', async () => {
    const bare = server.url.slice(0, server.url.lastIndexOf('/'));
    expect((await post(bare, '/decode', { body })).status).toBe(401);
    expect((await post(bare, '/wrong/decode', { body })).status).toBe(401);
    expect((await post(bare, '/%ff/decode', { body })).status).toBe(401);
    expect((await post(bare, '/decode', { body, headers: { Authorization: 'Bearer wrong' } })).status).toBe(
      401,
    );
    expect(
      (await post(bare, '/decode', { body, headers: { Authorization: 'Bearer s3cret/token' } })).status,
    ).toBe(200);
    expect((await post(server.url, '/decode', { body })).status).toBe(200);
  });

  // Promise: codec-host
  it('answers only requests for its own address, and for the names that its configuration lists', async () => {
    const { host, port } = new URL(server.url);
    const named = await startCodecServer({
      keyRing,
      port: 0,
      origins: [],
      namespaces: ['own'],
      hosts: ['codec.example.com'],
    });
    try {
      const ask = async (url: string, name: string): Promise<number | undefined> =>
        (
          await post(url, '/decode', {
            body,
            namespace: url === server.url ? 'blue' : 'own',
            headers: { Host: name },
          })
        ).status;
      for (const name of [host, `localhost:${port}`])
        expect([name, await ask(server.url, name)]).toEqual([name, 200]);
      // A page whose name resolves to loopback (DNS rebinding) sends its own name.
      for (const name of [
        `evil.example:${port}`,
        'evil.example',
        '127.0.0.1',
        `127.0.0.1.evil.example:${port}`,
      ])
        expect([name, await ask(server.url, name)]).toEqual([name, 403]);
      expect(await ask(named.url, 'codec.example.com')).toBe(200);
      expect(await ask(named.url, `codec.example.com:${port}`)).toBe(403);
    } finally {
      await named.stop();
    }
  });

  it('answers browsers of the listed origin only', async () => {
    const preflight = await send('OPTIONS', server.url, '/decode', {
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'content-type,x-namespace',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers['access-control-allow-origin']).toBe(origin);
    expect(preflight.headers['access-control-allow-headers']).toMatch(/Content-Type.*X-Namespace/);
    const granted = await post(server.url, '/decode', { body, headers: { Origin: origin } });
    expect([granted.status, granted.headers['access-control-allow-origin']]).toEqual([200, origin]);
    for (const other of [
      'http://evil.example',
      'null',
      `${origin}.evil.example`,
      'http://127.0.0.1:82330',
      'https://127.0.0.1:8233',
    ]) {
      for (const reply of [
        await post(server.url, '/decode', { body, headers: { Origin: other } }),
        await send('OPTIONS', server.url, '/decode', { headers: { Origin: other } }),
      ]) {
        expect([other, reply.status, reply.headers['access-control-allow-origin']]).toEqual([
          other,
          403,
          undefined,
        ]);
      }
    }
  });

  it.each([
    ['a form', { body, headers: { 'Content-Type': 'text/plain' } }, 415],
    ['no JSON', { body: '{' }, 400],
    ['no object', { body: '[]' }, 400],
    ['payloads that are no list', { body: '{"payloads":{}}' }, 400],
    ['a payload that is not an object', { body: '{"payloads":[1]}' }, 400],
    ['data that is not base64', { body: '{"payloads":[{"data":"?!"}]}' }, 400],
    ['metadata that is not text', { body: '{"payloads":[{"metadata":{"a":1}}]}' }, 400],
    ['a body over 8 MB', { body: Buffer.alloc(9e6, ' ').toString() }, 413],
  ])('refuses %s', async (_, options, status) => {
    const reply = await post(server.url, '/decode', options);
    expect(reply.status).toBe(status);
    expect(JSON.parse(reply.text)).toHaveProperty('error');
  });

  it('serves two paths and one method', async () => {
    expect((await post(server.url, '/other', { body })).status).toBe(404);
    expect((await send('GET', server.url, '/decode', {})).status).toBe(405);
  });

  it('listens on loopback', () => {
    expect(new URL(open.url).hostname).toBe('127.0.0.1');
  });
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function jsonOf(value: unknown): object {
  return { metadata: { encoding: base64('json/plain') }, data: base64(JSON.stringify(value)) };
}

function valueOf({ data }: Payload): unknown {
  return JSON.parse(Buffer.from(data ?? []).toString());
}

/** The namespace is `default` unless given, and null for none. */
interface Sent {
  readonly body?: string;
  readonly namespace?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}
interface Reply {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

function post(base: string, path: string, sent: Sent): Promise<Reply> {
  return send('POST', base, path, sent);
}

/** fetch sets origins itself. */
function send(
  method: string,
  base: string,
  path: string,
  { body: content = '', namespace = 'default', headers = {} }: Sent,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${base}${path}`,
      {
        method,
        headers: {
          'Content-Type': 'application/json',
          ...(namespace === null ? {} : { 'X-Namespace': namespace }),
          ...headers,
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(content);
  });
}
