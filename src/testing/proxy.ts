import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as requestTls } from 'node:https';
import type { AddressInfo } from 'node:net';

/** What happens to a call on its way; undefined lets it pass. */
export type CallFault =
  /** The API gets the call; the connection is cut instead of a response. */
  | { readonly kind: 'lose' }
  /** The API gets the call; no response comes until the proxy closes. */
  | { readonly kind: 'hold' }
  /** The API does not get the call. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

export interface PassingCall {
  readonly method: string;
  readonly path: string;
  /** How many calls came since the faults were set, this one counted. */
  readonly number: number;
}

/** Stands between a provider and its HTTP API, and lets calls go wrong. */
export interface ApiProxy {
  readonly endpoint: string;
  /** Decides over each call from now on. */
  set(fault: (call: PassingCall) => CallFault | undefined): void;
  /** Lets everything pass. */
  clear(): void;
  /** Whether faults are set. */
  isArmed(): boolean;
  /** Calls since the faults were set. */
  calls(): number;
  /** Calls that the API is still at, those included whose caller has gone. */
  underWay(): number;
  close(): Promise<void>;
}

/** Opens a proxy on loopback to the API at this address. */
export async function openProxy(target: string): Promise<ApiProxy> {
  const passAll = (): undefined => undefined;
  let decide: (call: PassingCall) => CallFault | undefined = passAll;
  let calls = 0;
  let underWay = 0;
  const server = createServer((incoming, answer) => {
    calls += 1;
    const fault = decide({ method: incoming.method ?? 'GET', path: incoming.url ?? '/', number: calls });
    underWay += 1;
    void pass(target, incoming, answer, fault)
      .catch(() => incoming.socket.destroy())
      .finally(() => {
        underWay -= 1;
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const set: ApiProxy['set'] = (fault) => {
    decide = fault;
    calls = 0;
  };
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    set,
    clear: () => set(passAll),
    isArmed: () => decide !== passAll,
    calls: () => calls,
    underWay: () => underWay,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function pass(
  target: string,
  incoming: IncomingMessage,
  answer: ServerResponse,
  fault: CallFault | undefined,
): Promise<void> {
  const body = await readAll(incoming);
  if (fault?.kind === 'answer') {
    // One that reads on after the end of an answer must not wait for more.
    answer.writeHead(fault.status, {
      'content-type': 'application/json',
      connection: 'close',
      ...fault.headers,
    });
    answer.end(fault.body);
    return;
  }
  const { status, headers, content } = await forward(target, incoming, body);
  if (fault?.kind === 'lose') incoming.socket.destroy();
  if (fault !== undefined) return;
  const { 'transfer-encoding': _chunked, connection: _connection, ...kept } = headers;
  answer.writeHead(status, { ...kept, 'content-length': content.length });
  answer.end(content);
}

interface Forwarded {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly content: Buffer;
}

async function forward(target: string, incoming: IncomingMessage, body: Buffer): Promise<Forwarded> {
  const base = new URL(target);
  const url = new URL(`${base.pathname.replace(/\/$/, '')}${incoming.url ?? '/'}`, base);
  const {
    host: _host,
    connection: _connection,
    'transfer-encoding': _chunked,
    ...headers
  } = incoming.headers;
  const send = url.protocol === 'https:' ? requestTls : request;
  const outgoing = send(url, {
    method: incoming.method ?? 'GET',
    headers: { ...headers, 'content-length': body.length },
    agent: false,
  });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 502, headers: response.headers, content: await readAll(response) };
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
