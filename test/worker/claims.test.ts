import { Client, Connection } from '@temporalio/client';
import { expect, inject, it } from 'vitest';
import { claimsOf } from '../../src/worker/claims.js';

it('whatever keeps the server from answering is asked again: that is no fault of a plugin', async () => {
  const connection = await Connection.connect({
    address: inject('temporalAddress'),
    connectTimeout: '1 minute',
  });
  const claims = claimsOf(new Client({ connection, namespace: 'no-such-namespace' }), 'rack');
  const failure = {
    name: 'PluginError',
    kind: 'Retryable',
    message: expect.stringContaining('who has what of rack could not be asked: '),
  };
  await expect(claims.take('key', ['one'])).rejects.toMatchObject(failure);
  await expect(claims.release('key')).rejects.toMatchObject(failure);
  await expect(claims.held()).rejects.toMatchObject(failure);
  await connection.close();
}, 60_000);
