import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { createServer as createHttp2Server } from 'node:http2';
import { once } from 'node:events';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { checkServer, ServerUnreachableError } from '../../src/server/check.js';
import { newFolder } from '../harness/folder.js';

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

function makeCertificate(): { readonly key: Buffer; readonly cert: Buffer } {
  const folder = newFolder();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const words = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'];
  try {
    execFileSync('openssl', [...words, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    return { key: readFileSync(key), cert: readFileSync(cert) };
  } finally {
    rmSync(folder, { recursive: true });
  }
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
  await expect(checkServer({ address }, 300)).rejects.toThrow('no response within 0.3 s');
  for (const socket of sockets) socket.destroy();
});

const web = (): Server => createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));

test('a server of another protocol is reported as such, and the next command shows where its address comes from', async () => {
  const address = await listen(web());
  const error: unknown = await checkServer({ address }).catch((cause: unknown) => cause);
  expect(error).toMatchObject({
    message: expect.stringMatching(
      /: the service there is not a Temporal server, or it requires TLS\. .*TEMPORAL_TLS=true/,
    ),
    next: 'heddle config show',
  });
});

test('TLS where the server has none, and a certificate that is not accepted, are reported as such', async () => {
  const plain = await listen(web());
  await expect(checkServer({ address: plain, tls: true })).rejects.toThrow(
    'TLS is configured, but the service there does not support it. Check the address, or unset TEMPORAL_TLS',
  );
  const encrypted = await listen(createTlsServer({ ...makeCertificate(), ALPNProtocols: ['h2'] }));
  await expect(checkServer({ address: encrypted, tls: true })).rejects.toThrow(
    /its certificate is not accepted \(self-signed certificate\)\. Name its authority/,
  );
  await expect(checkServer({ address: encrypted })).rejects.toThrow('or it requires TLS');
});

test('a name that cannot be resolved is reported as such', async () => {
  await expect(checkServer({ address: 'no.such.host.invalid:7233' })).rejects.toThrow(
    'the name no.such.host.invalid cannot be resolved',
  );
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
  await expect(checkServer({ address })).rejects.toThrow(/rejects the credentials: .*Check the API key/);
});
