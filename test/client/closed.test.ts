import { rmSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { expect, it } from 'vitest';
import { PoolClient } from '../../src/client/pool/pool-client.js';
import { openKeyRing } from '../../src/secrets/keys.js';
import { openConnection } from '../../src/server/connect.js';
import { heddle } from '../../src/temporal-plugin.js';
import { freePort } from '../harness/free-port.js';
import { cleanAfterFile } from '../harness/leftovers.js';
import { newFolder } from '../harness/folder.js';

it('waits for nodes no longer once its connection is closed', async () => {
  const folder = newFolder();
  cleanAfterFile(() => rmSync(folder, { recursive: true }));
  const keys = openKeyRing({ folder, create: true });
  const connection = openConnection({ address: `127.0.0.1:${await freePort()}` });
  const pool = new PoolClient(new Client({ connection, plugins: [heddle({ keys })] }), 'ci');
  const wait = pool.waitFor('some-request').catch((error: unknown) => error);
  await pause(300);
  await connection.close();
  expect(await wait).toMatchObject({
    code: 'Failed',
    message: 'requests ci: the connection to the server was closed',
  });
});
