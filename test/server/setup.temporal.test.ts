import { Connection } from '@temporalio/client';
import { inject, test, expect } from 'vitest';
import { checkSearchAttributes } from '../../src/server/setup.js';

test('the run has a server whose namespace has our search attributes', async () => {
  const connection = await Connection.connect({ address: inject('temporalAddress') });
  expect(await checkSearchAttributes(connection, 'default')).toEqual({ present: ['HeddleCluster', 'HeddlePhase', 'HeddleProvider'], missing: [] });
  await connection.close();
});
