import { afterAll, beforeAll, expect, test } from 'vitest';
import { startStack, type Stack } from '../../../harness/stack.js';
import { until } from '../../../harness/until.js';
import { closed } from '../../../harness/workflows/spec.js';
import { flavor, image, secret, startCloud, type Cloud } from './support/cloud.js';

let cloud: Cloud;
let stack: Stack;
beforeAll(async () => {
  cloud = await startCloud();
  stack = await startStack({
    config: {
      sweep: { every: '1h', minimumAge: '1ms', delete: true },
      providers: {
        cloud: {
          type: 'openstack',
          fields: {
            authUrl: cloud.authUrl,
            gateway: true,
            applicationCredentialId: 'credential-1',
            applicationCredentialSecret: secret,
            networks: ['net-1'],
            floatingNetwork: 'public',
          },
          hardware: { small: flavor },
          images: { debian: image },
        },
      },
    },
  });
});
afterAll(async () => {
  await stack.stop();
  await cloud.close();
});

async function apply(name: string): Promise<void> {
  await stack.client.apply(
    closed({
      name,
      nodes: { app: { count: 1, provider: 'cloud', hardware: 'small', image: 'debian', services: ['app'] } },
      services: { app: { actions: { start: { type: 'shell', fields: { script: 'true' } } } } },
    }),
  );
}

const descriptionsOf = (parts: ReadonlyMap<string, { readonly [name: string]: unknown }>) =>
  [...parts.values()].map(({ description }) => String(description)).toSorted();

test('the sweep deletes ports and addresses of a CREATE whose worker was killed, and no others', async () => {
  const worker = await stack.startWorker('first');
  cloud.boots = false;
  await apply('kept');
  await until('the server of kept', () => cloud.servers.size === 1);
  cloud.cutAt = 'POST /v2.1/servers';
  await apply('making');
  await apply('doomed');
  await until('the addresses of all three', () => cloud.floating.size === 3);
  await worker.kill();
  await stack.client.temporal.workflow.getHandle('cluster/doomed').terminate('by hand');
  for (const [id, description] of [
    ['foreign', 'heddle-installation=another heddle-key=uid/app-1/1 heddle-cluster=doomed'],
    ['plain', 'the port of a person'],
  ] as const) {
    cloud.ports.set(`port-${id}`, { id: `port-${id}`, name: id, description });
    cloud.floating.set(`address-${id}`, { id: `address-${id}`, port_id: `port-${id}`, description });
  }
  const others = (parts: ReadonlyMap<string, { readonly [name: string]: unknown }>) =>
    descriptionsOf(parts).filter(
      (description) => !description.endsWith('heddle-cluster=doomed') || description.includes('another'),
    );
  const [ports, addresses] = [others(cloud.ports), others(cloud.floating)];
  expect([ports.length, addresses.length]).toEqual([4, 4]);

  await stack.startWorker('second');
  const first = await stack.client.sweep();
  expect(first.refused).toEqual([]);
  expect(first.leaks).toMatchObject([
    {
      kind: 'orphan',
      cluster: 'doomed',
      account: 'cloud',
      providerid: expect.stringMatching(/^port:/),
      state: 'failed',
    },
  ]);
  const swept = await until('the pass that deletes', async () => {
    const { deleted } = await stack.client.sweep();
    return deleted.length > 0 && deleted;
  });
  expect(swept).toEqual([
    { account: 'cloud', providerid: first.leaks[0]?.providerid, key: first.leaks[0]?.key },
  ]);
  expect([descriptionsOf(cloud.ports), descriptionsOf(cloud.floating)]).toEqual([ports, addresses]);
  expect(cloud.servers.size).toBe(1);
});
