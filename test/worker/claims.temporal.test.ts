import { Client, Connection } from '@temporalio/client';
import { expect, inject, it } from 'vitest';
import { claimsOf } from '../../src/worker/account-workflows.js';

it('a claim fails with Retryable while the Temporal server does not answer', async () => {
  const connection = await Connection.connect({
    address: inject('temporalAddress'),
    connectTimeout: '1 minute',
  });
  const claims = claimsOf(new Client({ connection, namespace: 'no-such-namespace' }), 'rack');
  const failure = {
    name: 'PluginError',
    kind: 'Retryable',
    message: expect.stringContaining('the claims of rack are unavailable: '),
  };
  await expect(claims.take('key', ['one'])).rejects.toMatchObject(failure);
  await expect(claims.release('key')).rejects.toMatchObject(failure);
  await expect(claims.held()).rejects.toMatchObject(failure);
  await connection.close();
});
