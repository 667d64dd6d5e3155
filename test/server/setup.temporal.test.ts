import { once } from 'node:events';
import { createServer } from 'node:http2';
import { readFile } from 'node:fs/promises';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import {
  checkSearchAttributes,
  heddleSearchAttributes,
  registerSearchAttributes,
} from '../../src/server/setup.js';
import { startServer, type RunningServer } from '../../src/server/start.js';
import { newFolder } from '../harness/folder.js';

let dataFolder: string;
let server: RunningServer;
let connection: Connection;

beforeAll(async () => {
  dataFolder = newFolder();
  const options = {
    binary: inject('temporalBinary'),
    dataFolder,
    port: 0,
    ui: false,
    say: () => undefined,
  } as const;
  for (const name of ['HEDDLE_KEYS', 'TEMPORAL_API_KEY', 'AWS_SECRET_ACCESS_KEY'])
    vi.stubEnv(name, `leak:${name}`);
  server = await startServer({ ...options, namespace: 'fresh' });
  vi.unstubAllEnvs();
  connection = await Connection.connect({ address: server.address });
});
afterAll(async () => {
  await connection.close();
  await server.stop();
});

test.runIf(process.platform === 'linux')(
  'the environment of the Temporal server holds no credential of the process that started it',
  async () => {
    const environment = await readFile(`/proc/${server.pid}/environ`, 'utf8');
    expect(environment).toContain('PATH=');
    expect(environment).not.toContain('leak:');
  },
);

test('the server of the run has our search attributes', async () => {
  const shared = await Connection.connect({ address: inject('temporalAddress') });
  expect(await checkSearchAttributes(shared, 'default')).toEqual({
    present: heddleSearchAttributes,
    missing: [],
  });
  await shared.close();
});

test('missing ones are named, registered concurrently, and then present', async () => {
  const before = await checkSearchAttributes(connection, 'fresh');
  expect(before).toMatchObject({ present: [], missing: heddleSearchAttributes });
  expect(before.problem).toContain('heddle server setup');

  const all = await Promise.all([1, 2, 3].map(() => registerSearchAttributes(connection, 'fresh')));
  for (const report of [...all, await registerSearchAttributes(connection, 'fresh')]) {
    expect(report).toEqual({ present: heddleSearchAttributes, missing: [] });
  }
});

test('an attribute of another type counts as missing, and the report says why', async () => {
  const text = 1;
  await connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: { HeddlePhase: text },
  });
  const report = await registerSearchAttributes(connection, 'default');
  expect(report).toMatchObject({ missing: expect.arrayContaining(['HeddlePhase']) });
  expect(report.problem).toContain('HeddlePhase');
});

test('a refusal is not an error: the report names the command for an administrator', async () => {
  const strict = createServer();
  strict.on('stream', (stream) => {
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '7', 'grpc-message': 'no' },
      { endStream: true },
    );
  });
  strict.listen(0, '127.0.0.1');
  await once(strict, 'listening');
  const address = strict.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  const refused = Connection.lazy({ address: `127.0.0.1:${port}` });
  try {
    const report = await registerSearchAttributes(refused, 'prod');
    expect(report.missing).toEqual(heddleSearchAttributes);
    expect(report.problem).toContain(
      'temporal operator search-attribute create --namespace prod --name HeddleCluster --type Keyword',
    );
  } finally {
    await refused.close();
    strict.close();
  }
});
