import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openGround, type Ground } from '../../harness/machine/ground.js';
import { startStack, type Stack } from '../../harness/stack.js';

describe('a captured image whose size is reported as 0', () => {
  let stack: Stack;
  let proxy: Server;
  let ground: Ground;
  beforeAll(async () => {
    const accounts: Record<string, object> = {};
    stack = await startStack({ accounts });
    proxy = await startProxy(stack.service.endpoint);
    accounts['empty'] = {
      type: 'local',
      hardware: { tiny: 'tiny' },
      fields: {
        endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
        apiKey: { secret: `file:${stack.service.apiKeyFile}` },
      },
    };
    await stack.startWorker();
    ground = openGround(stack);
  });
  afterAll(async () => {
    await stack.stop();
    proxy.closeAllConnections();
    proxy.close();
  });

  it('is refused and deleted', async () => {
    const { add, operate } = ground;
    await add('box', { provider: 'empty' });
    const image = { name: 'nothing', revision: '1' };
    const { operation } = await operate('box', { kind: 'capture', image, prove: true });
    expect(operation).toMatchObject({
      state: 'failed',
      answer: 'unknown',
      failure: {
        action: 'GET_IMAGE_SIZE',
        message: expect.stringMatching(/nothing@1 was captured.*reported as 0, so it was deleted/) as string,
      },
    });
    // The machine service itself was asked, past the proxy.
    await expect(stack.service.call('GET', '/v1/images/nothing@1')).rejects.toThrow();
    expect(await stack.service.journal('capture')).toHaveLength(1);
  });
});

/** The machine service, whose images have the size 0 behind it. */
async function startProxy(endpoint: string): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const { method = 'GET', url = '/', headers } = incoming;
      const response = await fetch(`${endpoint}${url}`, {
        method,
        headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
          ['authorization', 'content-type'].includes(name) ? [[name, String(value)]] : [],
        ),
        ...(chunks.length === 0 ? {} : { body: new Uint8Array(Buffer.concat(chunks)) }),
      });
      const body = (await response.text()).replace(/"sizeBytes":\d+/, '"sizeBytes":0');
      outgoing.writeHead(response.status, {
        'content-type': response.headers.get('content-type') ?? 'text/plain',
      });
      outgoing.end(body);
    })().catch(() => incoming.socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
