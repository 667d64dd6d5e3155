import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DockerApi } from '../../../../src/plugins/providers/docker/api.js';
import type { DockerFields } from '../../../../src/plugins/providers/docker/field-types.js';
import { requireImage } from '../../../../src/plugins/providers/docker/images.js';
import { CountedCalls } from '../../../../src/testing/attempt.js';
import { fieldsOf } from '../../../harness/plugins/fields.js';

let daemon: Server;
let asked: string[];
let api: DockerApi;
beforeEach(async () => {
  asked = [];
  daemon = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(200, { 'api-version': '1.40', 'content-type': 'application/json' }).end('{"Id":"x"}');
  });
  daemon.listen(0, '127.0.0.1');
  await once(daemon, 'listening');
  api = apiAt('');
});
afterEach(() => daemon.close());

function apiAt(prefix: string): DockerApi {
  const endpoint = `http://127.0.0.1:${(daemon.address() as AddressInfo).port}${prefix}`;
  const fields = fieldsOf<DockerFields>('docker', { endpoint });
  return new DockerApi(fields, new AbortController().signal, new CountedCalls());
}

describe('the name of an image', () => {
  test.each(['debian', 'debian:12', 'localhost:5000/team/debian_12:v1.2-x', 'debian@sha256:0123', 'a..b/c'])(
    '%s reaches this image',
    async (name) => {
      await requireImage(api, name);
      expect(asked).toEqual([`/v1.40/images/${name}/json`]);
    },
  );

  test.each([
    '',
    '.',
    '..',
    'a/..',
    'a/./b',
    'a/../../containers/secret',
    'a/../../../../x',
    'a//..//..//x',
    'a/%2e%2e/b',
    String.raw`a\..\..\containers\x`,
    'a/json?x=',
    'a#b',
    'a b',
    '/a',
    'a/',
    '-a',
  ])('%j is refused, and the daemon is not asked', async (name) => {
    await expect(requireImage(api, name)).rejects.toMatchObject({
      kind: 'Invalid',
      message: expect.stringContaining('is not a valid image name') as string,
    });
    expect(asked).toEqual([]);
  });
});

describe('a path within the API', () => {
  test.each(['', '/', '/proxy/docker'])('reaches the daemon as it is, below %j', async (prefix) => {
    await apiAt(prefix).call({ method: 'GET', path: '/containers/x%2Fy/json?all=true&filters=%7B%7D' });
    expect(asked).toEqual([
      `${prefix.replace(/\/$/, '')}/v1.40/containers/x%2Fy/json?all=true&filters=%7B%7D`,
    ]);
  });

  test.each([
    '/containers/../json',
    '/containers/./json',
    '/containers/%2e%2E/json',
    '/containers/..?force=true',
    String.raw`/containers/..\images/x`,
    '/containers/a#b/json',
    '/containers/\t../json',
    '/../../x',
  ])('%j is refused if it leads elsewhere', async (path) => {
    for (const prefix of ['', '/proxy'])
      await expect(apiAt(prefix).call({ method: 'DELETE', path })).rejects.toMatchObject({ kind: 'Invalid' });
    expect(asked).toEqual([]);
  });
});
