import { Client, Connection } from '@temporalio/client';
import { expect, test } from 'vitest';
import { HeddleClient, type ClusterSpec } from '../../src/client/index.js';
import { formatKeys, generateKey } from '../../src/secrets/key-document.js';
import { heddle } from '../../src/temporal-plugin.js';

const key = generateKey();
const plugins = [heddle({ keys: formatKeys({ current: key.id, keys: [key] }) })];
/** Nothing is sent: what is wrong is said before a connection is opened. */
const client = new HeddleClient(
  new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }), plugins }),
);

test.each<readonly [unknown, string]>([
  [{ name: 'x' }, 'nodes: is missing'],
  [{ name: 'x', nodes: { app: 2 } }, 'nodes.app'],
  [{ nodes: {} }, 'name: is missing'],
  [{ name: 'x', nodes: [], services: {} }, 'nodes'],
  ['x', 'a spec must be a mapping'],
  [undefined, 'is not JSON'],
])('apply and plan refuse %j and say what is wrong', async (spec, why) => {
  const refused = {
    name: 'HeddleError',
    code: 'Invalid',
    message: expect.stringMatching(new RegExp(`^this is not the spec of a cluster: .*${why}`)) as string,
  };
  await expect(client.apply(spec as ClusterSpec)).rejects.toMatchObject(refused);
  await expect(client.plan(spec as ClusterSpec)).rejects.toMatchObject(refused);
});
