import { createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { probe } from '../../src/ssh/probe.js';
import { until } from '../harness/until.js';

/** Something that listens where SSH should, and what it does with a connection. */
const servers: readonly (readonly [string, (socket: Socket) => void])[] = [
  ['says nothing', () => undefined],
  ['hangs up at once', (socket) => socket.destroy()],
  ['hangs up in the middle of its name', (socket) => socket.end('SSH-2.')],
  ['speaks HTTP', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')],
  ['speaks SSH 1', (socket) => socket.write('SSH-1.5-old\r\n')],
  [
    'sends bytes of no meaning after its name',
    (socket) => socket.write(Buffer.concat([Buffer.from('SSH-2.0-odd\r\n'), Buffer.alloc(4_096, 0xff)])),
  ],
  [
    'announces a packet of 4 GB',
    (socket) =>
      socket.write(
        Buffer.concat([
          Buffer.from('SSH-2.0-odd\r\n'),
          Buffer.from([0xff, 0xff, 0xff, 0xff, 4]),
          Buffer.alloc(64),
        ]),
      ),
  ],
  ['sends a byte now and then', (socket) => every(socket, 50, 'S')],
  ['greets without end', (socket) => every(socket, 1, `${'welcome '.repeat(100)}\r\n`.repeat(20))],
  ['greets in one line without end', (socket) => every(socket, 1, 'welcome '.repeat(2_000))],
  ['paints the terminal', (socket) => socket.end('\u001b]0;owned\u0007\u001b[31mSSH-2.0-\u001b[2J\r\n')],
];

function every(socket: Socket, ms: number, text: string): void {
  const timer = setInterval(() => {
    if (!socket.writableNeedDrain) socket.write(text);
  }, ms);
  socket.on('close', () => clearInterval(timer));
}

describe('a server in place of SSH that', () => {
  it.concurrent.each(servers)('%s is given up at the time limit, and is named', async (_, serve) => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
      socket.resume();
      serve(socket);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    try {
      const failure: unknown = await probe(
        { host: '127.0.0.1', port, user: 'nobody', password: 'hunter2-hunter2' },
        { timeoutMs: 1_000 },
      ).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(failure).toMatchObject({
        name: 'PluginError',
        kind: expect.stringMatching(/^(Retryable|Invalid)$/) as string,
      });
      const { message } = failure as Error;
      expect(message).toContain(`127.0.0.1:${port}`);
      expect(message.length).toBeLessThan(1_000);
      expect(message).not.toMatch(/\p{Cc}/u);
      expect(message).not.toContain('hunter2');
      await until('the connection to be closed', () => sockets.size === 0);
    } finally {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    }
  });
});
