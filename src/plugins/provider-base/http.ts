import { request as plainRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { anySignal } from '../../model/signals.js';
import { isPluginError, PluginError, type Calls } from '../contract.js';

export interface HttpRequest {
  readonly method: string;
  /** The server in heddle.yaml. */
  readonly server: string;
  /** A path, or a link in a response of the server: see {@link resolveLink}. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a stream unchanged. */
  readonly body?: object | Readable;
  /** Path of a Unix socket to connect to instead of the URL's host. */
  readonly socketPath?: string;
  readonly tls?: {
    readonly ca?: string;
    readonly cert?: string;
    readonly key?: string;
    readonly rejectUnauthorized?: boolean;
  };
  /** Timeout of the whole exchange, in ms. */
  readonly timeoutMs?: number;
  /** Timeout without any data, in ms. */
  readonly silenceMs?: number;
  /** Maximum size of the response, in bytes. Default: 64 MiB. */
  readonly maxBytes?: number;
  /** Follows redirects within the server. Otherwise a redirect is an error. */
  readonly followsRedirects?: boolean;
  /** Receives the content of a 2xx response instead of `body`. */
  readonly receive?: (content: Readable) => Promise<void>;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
}

export interface HttpContext {
  readonly signal: AbortSignal;
  readonly calls: Calls;
  /** The error message if no complete response arrives. */
  readonly noAnswer: (why: string) => string;
}

const redirects: readonly number[] = [301, 302, 303, 307, 308];
const mostRedirects = 4;

/**
 * Sends one request within the account's rate limit. Returns every status except redirects.
 * @throws PluginError Retryable if no complete response arrives, Invalid if the path or a redirect points to
 * another server; the signal's reason if it is aborted.
 */
export async function sendRequest(request: HttpRequest, context: HttpContext): Promise<HttpResponse> {
  const server = new URL(request.server);
  let url = resolveLink(request.path, server);
  for (let followed = 0; ; followed += 1) {
    const response = await sendOnce(request, url, context);
    if (!redirects.includes(response.status)) return response;
    const { location } = response.headers;
    if (request.followsRedirects !== true || location === undefined || followed === mostRedirects)
      throw new PluginError('Retryable', context.noAnswer('unexpected redirect'));
    url = resolveLink(location, server, url);
  }
}

async function sendOnce(
  request: HttpRequest,
  url: URL,
  { signal, calls, noAnswer }: HttpContext,
): Promise<HttpResponse> {
  await calls.take();
  const { timeoutMs, receive, maxBytes = 64 * 1024 * 1024 } = request;
  const limited = timeoutMs === undefined ? signal : anySignal([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const response = await open(request, url, limited);
    const { statusCode: status = 502, headers } = response;
    const streamed = receive !== undefined && status < 300;
    if (streamed) await receive(response);
    const body = streamed ? Buffer.alloc(0) : await gather(response, maxBytes);
    return { status, headers, body, json: parseJson(body) };
  } catch (error) {
    signal.throwIfAborted();
    if (isPluginError(error)) throw error;
    throw new PluginError('Retryable', noAnswer(causeOf(error)), { cause: error });
  }
}

/** The `retry-after` header in ms, as an option of PluginError. */
export function retryAfter({ headers }: Pick<HttpResponse, 'headers'>): { readonly retryAfterMs?: number } {
  const seconds = Number(headers['retry-after'] ?? Number.NaN);
  return Number.isFinite(seconds) ? { retryAfterMs: seconds * 1_000 } : {};
}

function open(request: HttpRequest, url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  const { method, body, socketPath, tls, silenceMs } = request;
  const stream = body instanceof Readable ? body : undefined;
  const content = body === undefined || stream !== undefined ? undefined : Buffer.from(JSON.stringify(body));
  const headers = {
    ...(content === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(content.length) }),
    ...request.headers,
  };
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? tlsRequest : plainRequest;
    const outgoing = send(url, {
      method,
      headers,
      signal,
      agent: false,
      timeout: silenceMs,
      socketPath,
      ...tls,
    });
    outgoing.on('response', resolve).on('error', reject);
    outgoing.on('timeout', () => outgoing.destroy(new Error(`silent for ${(silenceMs ?? 0) / 1_000} s`)));
    if (stream === undefined) outgoing.end(content);
    // If the server rejects the request before it has read everything, its response counts instead of the
    // broken pipe.
    else pipeline(stream, outgoing).catch(reject);
  });
}

async function gather(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new Error(`the response exceeds ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}

/**
 * The URL of a path or link in a response, which must be on the server that heddle.yaml names, because
 * credentials and commands may go to no other server.
 * @param from Location of the link. Default: the server itself.
 * @throws PluginError Invalid for a link to another origin or scheme.
 */
function resolveLink(link: string, server: URL, from: URL = server): URL {
  const target = URL.canParse(link, from.href) ? new URL(link, from) : undefined;
  if (target === undefined || target.username !== '' || target.password !== '')
    throw new PluginError(
      'Invalid',
      `${server.origin} returned a link that is not a valid URL: ${JSON.stringify(link.slice(0, 200))}`,
    );
  if (target.origin !== server.origin)
    throw new PluginError(
      'Invalid',
      `${from.href} points to ${target.protocol}//${target.host}, which is a different server than ${server.origin}; if that is right, set it in heddle.yaml`,
    );
  return target;
}
