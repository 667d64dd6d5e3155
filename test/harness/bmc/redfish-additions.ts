import { once } from 'node:events';
import { createServer } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '../../../src/model/json.js';
import type { RedfishService } from './redfish.js';

export interface AddedTo {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * The emulator with properties and resources that it does not have: each path ends with a key
 * of `added`. Properties of a resource that it has are added to its own.
 */
export async function addToRedfish(
  { url, ca }: Pick<RedfishService, 'url' | 'ca'>,
  added: Readonly<Record<string, JsonObject>>,
): Promise<AddedTo> {
  const server = createServer((asked, answer) => {
    const outgoing = request(
      new URL(asked.url ?? '/', url),
      { method: asked.method, headers: { ...asked.headers, host: new URL(url).host }, ca },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const more = Object.entries(added).find(([end]) => asked.url?.endsWith(end))?.[1];
          const { statusCode = 502, headers } = response;
          const text = Buffer.concat(chunks).toString();
          const known = statusCode < 300 ? (JSON.parse(text) as JsonObject) : {};
          const { location } = headers;
          answer.writeHead(more === undefined || statusCode === 401 ? statusCode : 200, {
            'content-type': 'application/json',
            ...(location === undefined ? {} : { location: new URL(location, url).pathname }),
          });
          answer.end(more === undefined ? text : JSON.stringify({ ...known, ...more }));
        });
      },
    );
    asked.pipe(outgoing);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
