import { createServer, type Server } from 'node:net';
import { createServer as createHttp2Server } from 'node:http2';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { checkServer, ServerUnreachableError } from '../../src/server/check.js';

const servers: { close: () => unknown }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function listen(server: Server | ReturnType<typeof createHttp2Server>): Promise<string> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `127.0.0.1:${address.port}`;
}

test('a port without a listener is refused with a remedy', async () => {
  const server = createServer();
  const address = await listen(server);
  server.close();
  await once(server, 'close');
  const error = await checkServer({ address }).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(ServerUnreachableError);
  expect(String(error)).toContain(
    `No Temporal server answers at ${address}: connect ECONNREFUSED ${address}. Start one (\`heddle dev\``,
  );
});

test('a silent server is given up at the limit', async () => {
  const sockets = new Set<{ destroy: () => void }>();
  const address = await listen(createServer((socket) => sockets.add(socket)));
  await expect(checkServer({ address }, 300)).rejects.toThrow('nothing came back within 0.3 s');
  for (const socket of sockets) socket.destroy();
});

test('a server of another protocol is reported as such', async () => {
  const address = await listen(createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')));
  await expect(checkServer({ address })).rejects.toThrow(`No Temporal server answers at ${address}`);
});

test.each([
  ['7', 'denied'],
  ['16', 'unknown key'],
])('a server that refuses the call (gRPC status %s) does not count as absent', async (status, message) => {
  const server = createHttp2Server();
  server.on('stream', (stream) => {
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': status, 'grpc-message': message },
      { endStream: true },
    );
  });
  const address = await listen(server);
  await expect(checkServer({ address })).rejects.toThrow(/does not let us in: .*Check the API key/);
});
