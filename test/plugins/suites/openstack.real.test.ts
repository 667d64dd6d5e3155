import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, test } from 'vitest';
import { archiveOf } from '../../harness/suites/archive.js';
import { providerSuite } from '../../../src/testing/index.js';
import { prepareProject, secret } from '../providers/openstack/support/project.mjs';

const {
  HEDDLE_OPENSTACK_URL: authUrl,
  HEDDLE_OPENSTACK_PASSWORD: password = '',
  HEDDLE_OPENSTACK_USER: username = 'admin',
  HEDDLE_OPENSTACK_PROJECT: project = 'admin',
  // oxlint-disable-next-line node/no-process-env -- asked for from outside: no configuration of the product
} = process.env;

/**
 * One door to all services, by the first part of their paths, so that calls to each of them can go wrong. On
 * SQLite a service fails when another writes at the same moment, which says nothing of the provider: such a
 * call is made again, as the engine would.
 */
async function openGateway(
  services: Readonly<Record<string, string>>,
): Promise<{ readonly url: string; readonly close: () => void }> {
  const doors = Object.values(services).map((url) => new URL(url));
  const server = createServer((incoming, outgoing) => {
    const door = doors.find(({ pathname }) => incoming.url?.startsWith(`${pathname}/`));
    if (door === undefined) return void outgoing.writeHead(404).end();
    const { host: _host, connection: _connection, ...headers } = incoming.headers;
    return void readAll(incoming)
      .then(async (body) => {
        for (let tries = 1; ; tries += 1) {
          const passed = request(new URL(incoming.url ?? '/', door.origin), {
            method: incoming.method ?? 'GET',
            headers,
            agent: false,
          });
          passed.end(body);
          const [answer] = (await once(passed, 'response')) as [IncomingMessage];
          const content = await readAll(answer);
          if (tries === 20 || answer.statusCode !== 500 || !content.includes('OperationalError'))
            return outgoing.writeHead(answer.statusCode ?? 502, answer.headers).end(content);
          await pause(200);
        }
      })
      .catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

if (authUrl === undefined)
  test.skip(
    'provider openstack on a real one: HEDDLE_OPENSTACK_URL is not set, see docs/reference/providers/openstack.md',
  );
else {
  providerSuite(
    { describe, test, afterAll },
    {
      name: 'openstack',
      endpoint: 'authUrl',
      uploads: true,
      open: async () => {
        const prepared = await prepareProject({ authUrl, username, password, project });
        const { file, remove } = await archiveOf('files', 'greeting');
        const gateway = await openGateway(prepared.services);
        return {
          admin: {
            authUrl: gateway.url,
            gateway: true,
            applicationCredentialId: prepared.credentialId,
            applicationCredentialSecret: secret,
            hostKeySecret: 'host-key-secret-of-the-suite-0123456789',
            networks: [prepared.networkId],
          },
          flavor: 'heddle.small',
          image: 'heddle-debian',
          upload: { file, format: 'raw' },
          close: async () => {
            remove();
            gateway.close();
            await prepared.remove();
          },
        };
      },
      without: {
        'list-pages': "Nova's pages hold 500 servers: too many for one machine",
        'same-moment':
          'Nova knows no client tokens: the engine calls CREATE once at a time, and looks before it calls again',
        login: "Nova's fake hypervisor boots nothing: there is nothing to log in to",
      },
    },
  );
}
