import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { notify } from '../../../src/activities/reservation/notify.js';
import type { ReservationNotification } from '../../../src/model/reservation/state.js';
import { configSchema } from '../../../src/schema/config.js';
import { newFolder } from '../../harness/folder.js';

const notifications: ReservationNotification = {
  id: 'u/r1/ready/1.0',
  event: 'ready',
  at: '2026-07-01T09:00:00.000Z',
  text: 'r1 is ready',
  reservation: {
    id: 'r1',
    user: 'ada',
    image: 'web@2',
    from: '2026-07-01T09:00:00.000Z',
    to: '2026-07-01T11:00:00.000Z',
    machines: ['lab-1'],
  },
};
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const partsWith = (receivers: object = {}) => ({
  settings: configSchema.parse({ reservations: { notify: receivers } }),
  log,
});

describe('receivers of notifications about reservations', () => {
  let server: Server;
  let url: string;
  let folder: string;
  const heard: { readonly key: string | undefined; readonly body: string }[] = [];

  beforeAll(async () => {
    folder = newFolder();
    server = createServer((request, response) => {
      let body = '';
      request
        .setEncoding('utf8')
        .on('data', (chunk: string) => {
          body += chunk;
        })
        .on('end', () => {
          heard.push({ key: request.headers['idempotency-key'] as string | undefined, body });
          response.writeHead(request.url === '/broken' ? 503 : 204).end();
        });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });

  it('receive a POST request; a command receives the same on standard input', async () => {
    const file = join(folder, 'told');
    expect(
      await notify(
        partsWith({ url: `${url}/hook`, command: ['/bin/sh', '-c', 'cat > "$0"', file] }),
        notifications,
      ),
    ).toEqual({ notified: 2 });
    expect(heard).toEqual([{ key: notifications.id, body: JSON.stringify(notifications) }]);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(notifications);
  });

  it('receivers are optional', async () => {
    expect(await notify(partsWith(), notifications)).toEqual({ notified: 0 });
  });

  it.each([
    ['answers with an error', () => ({ url: `${url}/broken` }), /127\.0\.0\.1:\d+ answered 503/],
    ['is not there', () => ({ url: 'http://127.0.0.1:1/' }), /was not delivered/],
    [
      'fails',
      () => ({ command: ['/bin/sh', '-c', 'echo no mail today >&2; exit 3'] }),
      /ended with 3: no mail today/,
    ],
    ['is not a program', () => ({ command: ['/no/such/program'] }), /ENOENT/],
    ['does not read what it is told', () => ({ command: ['/bin/false'] }), /ended with 1/],
  ])('that %s is tried again, and said', async (_what, settings, expected) => {
    await expect(notify(partsWith(settings()), notifications)).rejects.toMatchObject({
      message: expect.stringMatching(expected) as string,
      nonRetryable: false,
    });
  });
});
