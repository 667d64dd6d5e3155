import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly isSigned: boolean;
  /** What it was answered. */
  readonly status: number;
}

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** Answers further requests with this status. */
  answer(status: number): void;
  close(): Promise<void>;
}

/** A real receiver of webhooks, which verifies signatures by the text of the specification. */
export async function startReceiver(secret: string): Promise<Receiver> {
  const received: Received[] = [];
  let status = 204;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { type, data } = JSON.parse(body) as Pick<Received, 'type' | 'data'>;
      const id = String(request.headers['webhook-id']);
      received.push({ id, type, data, isSigned: isSigned(secret, request.headers, body), status });
      response.writeHead(status, status === 302 ? { location: 'http://127.0.0.1:1/' } : {}).end('seen');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answer(next) {
      status = next;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function isSigned(secret: string, headers: IncomingHttpHeaders, body: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const wanted = createHmac('sha256', key)
    .update(`${String(id)}.${String(timestamp)}.${body}`)
    .digest('base64');
  const isFresh = Math.abs(Date.now() / 1_000 - Number(timestamp)) < 300;
  return isFresh && String(signature).split(' ').includes(`v1,${wanted}`);
}
