import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import type { Payload } from '@temporalio/common';
import { Hono, type Context } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import { EncryptionCodec, isEncrypted, PayloadRefusedError } from './codec.js';
import { KeyError, type KeyRing } from './keys.js';
import { unwrapMessage, wrapMessage } from './message-payload.js';
import { formatPayloads, parsePayloads } from './payload-json.js';

export interface CodecServerOptions {
  readonly keyRing: KeyRing;
  /** Default: loopback. For any other address, use a TLS proxy: responses are plaintext. */
  readonly host?: string;
  /** 0 for any free port. */
  readonly port: number;
  /** Origins of web pages that may call, such as `http://127.0.0.1:8233`. Other tools send no origin. */
  readonly origins: readonly string[];
  /**
   * Required as `Authorization: Bearer TOKEN`, or as the first part of the path, for the Web UI, which cannot
   * set headers. Without a token, everyone who reaches the port can decrypt.
   */
  readonly token?: string;
  /** Further host names, with ports, under which callers reach it, such as those of a proxy. */
  readonly hosts?: readonly string[];
  /** Requests must name one of these in `X-Namespace`, as the Web UI and the Temporal CLI do. */
  readonly namespaces: readonly string[];
}

export interface CodecServer {
  /** The URL for the Web UI and `--codec-endpoint`. It contains the token, so it is secret. */
  readonly url: string;
  stop(): Promise<void>;
}

const maxBodyBytes = 8 * 1024 * 1024;

/**
 * Encrypts and decrypts payloads for Temporal's Web UI and CLI. Does not log requests: paths may contain the
 * token.
 */
export async function startCodecServer(options: CodecServerOptions): Promise<CodecServer> {
  const { host = '127.0.0.1', port, token, keyRing, hosts = [] } = options;
  let known: readonly string[] = hosts;
  const app = new Hono();
  app.use(async (call, next) => {
    checkHost(call, known);
    allowOrigin(call, options.origins);
    if (call.req.method === 'OPTIONS') return call.body(null, 204);
    authorize(call, token);
    if (call.req.method !== 'POST') throw refusal(405, 'use POST');
    if (!/^application\/json\b/i.test(call.req.header('content-type') ?? ''))
      throw refusal(415, 'the content type must be application/json');
    checkNamespace(call, options.namespaces);
    return next();
  });
  app.use(
    bodyLimit({
      maxSize: maxBodyBytes,
      onError: () => {
        throw refusal(413, `the body is larger than ${maxBodyBytes} bytes`);
      },
    }),
  );
  app.post('*', async (call) => {
    const payloads = await readPayloads(call);
    const namespace = call.req.header('x-namespace') ?? '';
    const codec = new EncryptionCodec({ keyRing, namespace, onPlaintext: 'pass' });
    const converted = call.req.path.endsWith('/encode')
      ? await codec.encode(wrapMessages(payloads))
      : await decodeMessages(codec, payloads);
    return call.json(formatPayloads(converted));
  });
  app.onError((error, call) => {
    const isExpected =
      error instanceof HTTPException || error instanceof KeyError || error instanceof PayloadRefusedError;
    const status = error instanceof HTTPException ? error.status : isExpected ? 400 : 500;
    // The rest of the request remains unread.
    call.header('Connection', 'close');
    return call.json({ error: isExpected ? error.message : 'the codec server failed' }, status);
  });
  const server = createAdaptorServer({
    fetch: app.fetch,
    overrideGlobalObjects: false,
    serverOptions: { requestTimeout: 30_000, headersTimeout: 10_000 },
  }) as Server;
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${address.port}`;
  known = [
    ...hosts,
    authority,
    ...['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${address.port}`),
  ];
  return {
    url: `http://${authority}${token === undefined ? '' : `/${encodeURIComponent(token)}`}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function refusal(status: 400 | 401 | 403 | 404 | 405 | 413 | 415, message: string): HTTPException {
  return new HTTPException(status, { message });
}

/** Protects against DNS rebinding: a page whose host name resolves to this address sends its own name. */
function checkHost(call: Context, known: readonly string[]): void {
  const host = call.req.header('host')?.toLowerCase() ?? '';
  if (!known.some((name) => name.toLowerCase() === host))
    throw refusal(403, 'unknown host name; add it to the configuration of the codec server');
}

/** All namespaces of an installation share its keys, so access is limited by namespace. */
function checkNamespace(call: Context, served: readonly string[]): void {
  const namespace = call.req.header('x-namespace');
  if (namespace === undefined || namespace === '')
    throw refusal(400, 'the header X-Namespace with the namespace of the payloads is missing');
  if (!served.includes(namespace))
    throw refusal(
      403,
      `the codec server does not serve the namespace ${JSON.stringify(namespace.slice(0, 100))}`,
    );
}

function wrapMessages(payloads: readonly Payload[]): Payload[] {
  try {
    return payloads.map((payload) => (isEncrypted(payload) ? payload : wrapMessage(payload, Date.now())));
  } catch (error) {
    throw error instanceof TypeError ? refusal(400, error.message) : error;
  }
}

/** Plaintext passes unchanged: a plaintext envelope is not a message of Heddle. */
async function decodeMessages(codec: EncryptionCodec, payloads: readonly Payload[]): Promise<Payload[]> {
  const decoded = await codec.decode([...payloads]);
  return decoded.map((payload, index) => (payload === payloads[index] ? payload : unwrapMessage(payload)));
}

function allowOrigin(call: Context, origins: readonly string[]): void {
  call.header('Vary', 'Origin');
  call.header('Cache-Control', 'no-store');
  const origin = call.req.header('origin');
  if (origin === undefined) return;
  if (!origins.includes(origin))
    throw refusal(403, 'this origin is not allowed; add it to the configuration of the codec server');
  call.header('Access-Control-Allow-Origin', origin);
  call.header('Access-Control-Allow-Methods', 'POST');
  call.header(
    'Access-Control-Allow-Headers',
    'Content-Type, X-Namespace, Authorization, Authorization-Extras',
  );
  // The Web UI may send cookies, for a proxy; browsers then refuse responses without this header.
  call.header('Access-Control-Allow-Credentials', 'true');
}

/** Checks the token, then that the path ends in /encode or /decode. */
function authorize(call: Context, token: string | undefined): void {
  const parts = new URL(call.req.url).pathname.split('/').slice(1);
  const verb = parts.pop();
  if (token !== undefined) {
    const bearer = /^Bearer (.+)$/i.exec(call.req.header('authorization') ?? '')?.[1];
    if (!isToken(bearer, token) && !isToken(decode(parts.shift()), token))
      throw refusal(401, 'the token is missing or wrong');
  }
  if (verb !== 'encode' && verb !== 'decode') throw refusal(404, 'use /encode or /decode');
}

/** Compares digests in constant time, which also hides the token's length. */
function isToken(given: string | undefined, token: string): boolean {
  return given !== undefined && timingSafeEqual(sha256(given), sha256(token));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function decode(part: string | undefined): string | undefined {
  try {
    return part === undefined ? undefined : decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

async function readPayloads(call: Context): Promise<ReturnType<typeof parsePayloads>> {
  try {
    return parsePayloads(await call.req.json());
  } catch (error) {
    throw refusal(400, error instanceof TypeError ? error.message : 'the body is not JSON');
  }
}
