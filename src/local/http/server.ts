import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono, type Context } from 'hono';
import { sameSecret } from '../api-key.js';
import { ApiError, errorStatuses, messageOf } from '../errors.js';
import type { CallSubject, Faults } from '../faults.js';
import type { Logger } from 'pino';

type Environment = { Bindings: HttpBindings };
export type Api = Hono<Environment>;
export type Call = Context<Environment>;

/** A call in flight, for the stack dump. */
interface InFlight {
  readonly method: string;
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

export interface HttpServer {
  readonly port: number;
  readonly inFlight: ReadonlySet<InFlight>;
  /** Cuts all connections, as a power cut does. */
  close(): void;
}

/** Serves the API with these routes. Every path but /v1/health needs the API key. */
export async function serveApi(options: {
  readonly host: string;
  readonly port: number;
  readonly apiKey: string;
  readonly log: Logger;
  readonly addRoutes: (api: Api) => void;
}): Promise<HttpServer> {
  const { host, apiKey, log } = options;
  const inFlight = new Set<InFlight>();
  const api: Api = new Hono();
  api.use(async (call, next) => {
    const flight = { method: call.req.method, path: call.req.path, since: Date.now() };
    inFlight.add(flight);
    call.header('cache-control', 'no-store');
    try {
      if (
        flight.path !== '/v1/health' &&
        !sameSecret(call.req.header('authorization') ?? '', `Bearer ${apiKey}`)
      )
        throw new ApiError(
          'Unauthorized',
          'The API key is missing or wrong. Send "authorization: Bearer KEY"; the key is in the file api-key of the data folder.',
        );
      await next();
    } finally {
      inFlight.delete(flight);
    }
  });
  options.addRoutes(api);
  for (const path of new Set(api.routes.filter(({ method }) => method !== 'ALL').map((route) => route.path)))
    api.all(path, () => {
      const methods = api.routes.filter((route) => route.path === path && route.method !== 'ALL');
      throw new ApiError(
        'MethodNotAllowed',
        `${path} takes ${methods.map(({ method }) => method).join(', ')}.`,
      );
    });
  api.notFound((call) => {
    throw new ApiError('NotFound', `Path ${call.req.path} does not exist.`);
  });
  api.onError((error, call) => {
    if (!(error instanceof ApiError))
      log.error({ stack: error.stack }, `${call.req.method} ${call.req.path} failed: ${error.message}`);
    const { code, message, retryAfterSeconds } =
      error instanceof ApiError ? error : new ApiError('Internal', messageOf(error));
    if (retryAfterSeconds !== undefined) call.header('retry-after', String(retryAfterSeconds));
    return call.json({ error: { code, message } }, errorStatuses[code]);
  });
  const server = createAdaptorServer({ fetch: api.fetch, overrideGlobalObjects: false }) as Server;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    inFlight,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Does a call's work and returns its response, unless a scripted fault meets the call. */
export type Answer = (call: Call, subject: CallSubject, work: () => Response) => Promise<Response>;

export function answerWith(faults: Faults): Answer {
  return async (call, subject, work) => {
    const { incoming, outgoing } = call.env;
    const gone = new AbortController();
    outgoing.once('close', () => gone.abort());
    const latency = faults.meet('latency', subject);
    if (latency) await sleep(latency.ms, undefined, { signal: gone.signal }).catch(() => undefined);
    const refusal = faults.meet('http', subject);
    if (refusal) {
      const codes = { 429: 'TooManyRequests', 500: 'Internal', 503: 'Unavailable' } as const;
      const { status, retryAfterSeconds } = refusal;
      throw new ApiError(codes[status], `A scripted fault answered ${status}.`, { retryAfterSeconds });
    }
    const response = work();
    await faults.hold(subject, gone.signal);
    if (!faults.meet('lose-answer', subject)) return response;
    incoming.socket.destroy();
    return RESPONSE_ALREADY_SENT;
  };
}
