import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openConnection } from '../../src/server/connect.js';
import { freePort } from '../harness/free-port.js';

it('cancels calls that wait for another try when their connection is closed', async () => {
  const connection = openConnection({ address: `127.0.0.1:${await freePort()}` });
  const call = connection.workflowService.getSystemInfo({}).catch((error: unknown) => error);
  await pause(300);
  await connection.close();
  expect(await call).toMatchObject({ code: 1, details: expect.stringContaining('shut down') });
});
