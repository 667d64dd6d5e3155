import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { Payload } from '@temporalio/common';
import { EncryptionCodec, isEncrypted, PayloadRefusedError } from './codec.js';
import { KeyError, type KeyRing } from './keys.js';
import { unwrapMessage, wrapMessage } from './message-payload.js';
import { formatPayloads, parsePayloads } from './payload-json.js';

export interface CodecServerOptions {
  readonly keyRing: KeyRing;
  /** Loopback unless given. Anywhere else put TLS before it: it answers in plaintext. */
  readonly host?: string;
  /** 0 for a free one. */
  readonly port: number;
  /**
   * Exactly these may ask from a browser, like `http://127.0.0.1:8233`. Tools that are no browsers send no
   * origin.
   */
  readonly origins: readonly string[];
  /**
   * Asked for as `Authorization: Bearer TOKEN`, or as the first part of the path. The path is for the Web UI,
   * which has no setting for headers. Left out, whoever reaches the port can decrypt.
   */
  readonly token?: string;
  /** Requests must name one of these in `X-Namespace`, as the Web UI and the Temporal CLI do. */
  readonly namespaces: readonly string[];
}

export interface CodecServer {
  /** What the Web UI and `--codec-endpoint` are given; it holds the token, so it is a secret. */
  readonly url: string;
  stop(): Promise<void>;
}

const bodyLimit = 8 * 1024 * 1024;

/** A reply other than success. */
class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Encrypts and decrypts payloads for Temporal's Web UI and CLI, over HTTP. Logs no requests: their paths can
 * hold the token.
 */
export async function startCodecServer(options: CodecServerOptions): Promise<CodecServer> {
  const { host = '127.0.0.1', port, token } = options;
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, (request, response) => {
    answer(request, response, options).catch((error: unknown) => refuse(response, error));
  });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the codec server has no port');
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${address.port}`;
  return {
    url: `http://${authority}${token === undefined ? '' : `/${encodeURIComponent(token)}`}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: CodecServerOptions,
): Promise<void> {
  allowOrigin(request, response, options.origins);
  if (request.method === 'OPTIONS') {
    response.writeHead(204).end();
    return;
  }
  const verb = authorize(request, options.token);
  if (request.method !== 'POST') throw new Refused(405, 'use POST');
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
    throw new Refused(415, 'the content type must be application/json');
  const namespace = readNamespace(request, options.namespaces);
  const payloads = await readPayloads(request);
  const codec = new EncryptionCodec({ keyRing: options.keyRing, namespace, onPlaintext: 'pass' });
  const done =
    verb === 'encode' ? await codec.encode(wrapMessages(payloads)) : await decodeMessages(codec, payloads);
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(formatPayloads(done)));
}

/** Keys are shared by the namespaces of an installation, so the namespace decides who may read what. */
function readNamespace(request: IncomingMessage, served: readonly string[]): string {
  const namespace = headerOf(request, 'x-namespace');
  if (namespace === undefined)
    throw new Refused(400, 'the header X-Namespace is missing: it names the namespace of the payloads');
  if (served.includes(namespace)) return namespace;
  throw new Refused(
    403,
    `the codec server does not serve the namespace ${JSON.stringify(namespace.slice(0, 100))}`,
  );
}

function wrapMessages(payloads: readonly Payload[]): Payload[] {
  try {
    return payloads.map((payload) => (isEncrypted(payload) ? payload : wrapMessage(payload, Date.now())));
  } catch (error) {
    throw error instanceof TypeError ? new Refused(400, error.message) : error;
  }
}

/** Plaintext is shown as it is: an envelope in plaintext is no message of Heddle's. */
async function decodeMessages(codec: EncryptionCodec, payloads: readonly Payload[]): Promise<Payload[]> {
  const decoded = await codec.decode([...payloads]);
  return decoded.map((payload, index) => (payload === payloads[index] ? payload : unwrapMessage(payload)));
}

/** Also guards against pages that reach a loopback port by a name of their own: their origin is theirs. */
function allowOrigin(request: IncomingMessage, response: ServerResponse, origins: readonly string[]): void {
  response.setHeader('Vary', 'Origin');
  response.setHeader('Cache-Control', 'no-store');
  const { origin } = request.headers;
  if (origin === undefined) return;
  if (!origins.includes(origin))
    throw new Refused(403, 'this origin may not use the codec server; list it in its configuration');
  response.setHeader('Access-Control-Allow-Origin', origin);
  response.setHeader('Access-Control-Allow-Methods', 'POST');
  response.setHeader(
    'Access-Control-Allow-Headers',
    'Content-Type, X-Namespace, Authorization, Authorization-Extras',
  );
  // The Web UI can be set to send cookies, for a proxy in between; browsers then refuse replies without this.
  response.setHeader('Access-Control-Allow-Credentials', 'true');
}

function authorize(request: IncomingMessage, token: string | undefined): 'encode' | 'decode' {
  const parts = new URL(request.url ?? '/', 'http://codec.invalid').pathname.split('/').slice(1);
  const verb = parts.pop();
  if (token !== undefined) {
    const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    const allowed = isToken(bearer, token) || isToken(decode(parts.shift()), token);
    if (!allowed) throw new Refused(401, 'the token is missing or wrong');
  }
  if (verb === 'encode' || verb === 'decode') return verb;
  throw new Refused(404, 'there are /encode and /decode');
}

/** Compared as digests, so that the time taken tells nothing of the token. */
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

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

async function readPayloads(request: IncomingMessage): Promise<ReturnType<typeof parsePayloads>> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Kept open when the rest is not read, or the reply could not be sent.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyLimit) throw new Refused(413, `the body is larger than ${bodyLimit} bytes`);
    chunks.push(chunk);
  }
  try {
    return parsePayloads(JSON.parse(Buffer.concat(chunks).toString('utf8')));
  } catch (error) {
    throw new Refused(400, error instanceof TypeError ? error.message : 'the body is not JSON');
  }
}

function refuse(response: ServerResponse, error: unknown): void {
  const expected =
    error instanceof Refused || error instanceof KeyError || error instanceof PayloadRefusedError;
  const status = error instanceof Refused ? error.status : expected ? 400 : 500;
  const message = expected ? error.message : 'the codec server failed';
  // What was not read of the request is not waited for.
  response
    .writeHead(status, { 'Content-Type': 'application/json', Connection: 'close' })
    .end(JSON.stringify({ error: message }));
}
