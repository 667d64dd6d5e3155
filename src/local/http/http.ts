import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { sameSecret } from '../api-key.js';
import { ApiError, errorStatuses, messageOf } from '../errors.js';
import type { CallSubject, Faults } from '../faults.js';
import type { Log } from '../log.js';

const maxBodyBytes = 1024 * 1024;

export interface ApiRequest {
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Parsed JSON; undefined without a body. */
  readonly body: unknown;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** Sent in place of the body. */
  readonly stream?: Readable;
}

/**
 * A checked request. `subject` is there for calls that scripted faults can meet; `accept` does the work, at
 * once.
 */
export interface Call {
  readonly subject?: CallSubject;
  readonly accept: () => Answer;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Parts that begin with a colon are parameters. */
  readonly path: string;
  /** Answered without an API key. */
  readonly open?: true;
  /** Takes the body as it comes, of any length; what it makes of it is the `body` of the request. */
  receive?(request: Pick<ApiRequest, 'parameters' | 'query'>, body: Readable): Promise<unknown>;
  handle(request: ApiRequest): Call;
}

/** A call in flight, for the stack dump. */
export interface InFlight {
  readonly method: string;
  readonly path: string;
  readonly since: number;
}

export interface HttpOptions {
  readonly routes: readonly Route[];
  readonly apiKey: string;
  readonly faults: Faults;
  readonly log: Log;
}

export class HttpApi {
  readonly inFlight = new Set<InFlight>();
  readonly #options: HttpOptions;
  readonly #server: Server;

  private constructor(options: HttpOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      void this.#serve(request, response);
    });
  }

  /** @throws the system's error when the port is taken. */
  static async listen(
    { host, port }: { readonly host: string; readonly port: number },
    options: HttpOptions,
  ): Promise<HttpApi> {
    const api = new HttpApi(options);
    await new Promise<void>((resolve, reject) => {
      api.#server.once('error', reject);
      api.#server.listen(port, host, resolve);
    });
    return api;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Cuts all connections, as a power cut does. */
  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const flight = { method: request.method ?? '', path: request.url ?? '', since: Date.now() };
    this.inFlight.add(flight);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      const { subject, accept } = await this.#read(request);
      if (subject === undefined) return send(response, accept());
      await this.#meetEarlyFaults(subject, gone.signal);
      const answer = accept();
      await this.#options.faults.hold(subject, gone.signal);
      if (this.#options.faults.meet('lose-answer', subject)) return void request.socket.destroy();
      send(response, answer);
    } catch (error) {
      this.#sendError(response, error, flight);
    } finally {
      this.inFlight.delete(flight);
    }
  }

  async #read(request: IncomingMessage): Promise<Call> {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const { route, parameters } = findRoute(this.#options.routes, request.method ?? '', url.pathname);
    if (!route.open && !sameSecret(request.headers.authorization ?? '', `Bearer ${this.#options.apiKey}`)) {
      throw new ApiError(
        'Unauthorized',
        'The API key is missing or wrong. Send "authorization: Bearer KEY"; the key is in the file api-key of the data folder.',
      );
    }
    const asked = { parameters, query: url.searchParams };
    return route.handle({
      ...asked,
      body: route.receive === undefined ? await readBody(request) : await route.receive(asked, request),
    });
  }

  /** What goes wrong before anything is done. */
  async #meetEarlyFaults(subject: CallSubject, gone: AbortSignal): Promise<void> {
    const { faults } = this.#options;
    const latency = faults.meet('latency', subject);
    if (latency) await wait(latency.ms, gone);
    const fault = faults.meet('http', subject);
    if (!fault) return;
    const codes = { 429: 'TooManyRequests', 500: 'Internal', 503: 'Unavailable' } as const;
    const retry = fault.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: fault.retryAfterSeconds };
    throw new ApiError(codes[fault.status], `A scripted fault answered ${fault.status}.`, retry);
  }

  #sendError(response: ServerResponse, error: unknown, flight: InFlight): void {
    if (!(error instanceof ApiError))
      this.#options.log.error(`${flight.method} ${flight.path} failed: ${messageOf(error)}`, {
        stack: error instanceof Error ? error.stack : undefined,
      });
    const known = error instanceof ApiError ? error : new ApiError('Internal', messageOf(error));
    if (known.retryAfterSeconds !== undefined)
      response.setHeader('retry-after', String(known.retryAfterSeconds));
    send(response, {
      status: errorStatuses[known.code],
      body: { error: { code: known.code, message: known.message } },
    });
  }
}

function findRoute(
  routes: readonly Route[],
  method: string,
  path: string,
): { route: Route; parameters: Record<string, string> } {
  const fitting = routes.flatMap((route) => {
    const parameters = matchPath(route.path, path);
    return parameters === undefined ? [] : [{ route, parameters }];
  });
  if (fitting.length === 0) throw new ApiError('NotFound', `There is nothing at ${path}.`);
  const found = fitting.find(({ route }) => route.method === method);
  if (found === undefined)
    throw new ApiError(
      'MethodNotAllowed',
      `${path} takes ${fitting.map(({ route }) => route.method).join(', ')}.`,
    );
  return found;
}

function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? '';
    if (part.startsWith(':') && value !== '') parameters[part.slice(1)] = value;
    else if (part !== value) return undefined;
  }
  return parameters;
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new ApiError('TooLarge', `The body is larger than ${maxBodyBytes} bytes.`);
    chunks.push(chunk);
  }
  if (size === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch (error) {
    throw new ApiError('BadRequest', `The body is not JSON: ${messageOf(error)}.`, { cause: error });
  }
}

function send(response: ServerResponse, answer: Answer): void {
  if (response.destroyed) return;
  if (answer.stream !== undefined) {
    response.writeHead(answer.status, {
      'content-type': 'application/octet-stream',
      'cache-control': 'no-store',
    });
    // Cut, where the source is: the reader then knows that it is not whole.
    pipeline(answer.stream, response, () => undefined);
    return;
  }
  const text = `${JSON.stringify(answer.body)}\n`;
  response.writeHead(answer.status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.end(text);
}

function wait(ms: number, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    gone.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
