import { afterAll, beforeAll, expect, test } from 'vitest';
import { openProxy, type ApiProxy } from '../../../../src/testing/proxy.js';
import { startStack, type Stack } from '../../../harness/stack.js';
import { until } from '../../../harness/until.js';
import { closed } from '../../../harness/workflows/spec.js';
import { flavor, image, secret, startCloud, type Cloud } from './support/cloud.js';

/** The calls that make a machine with a floating address, in their order. */
const making = { port: '/v2.0/ports', address: '/v2.0/floatingips', server: '/v2.1/servers' } as const;
const names = Object.keys(making) as readonly (keyof typeof making)[];

let cloud: Cloud;
let stack: Stack;
const proxies: ApiProxy[] = [];
beforeAll(async () => {
  cloud = await startCloud();
  const providers: Record<string, object> = {};
  stack = await startStack({ config: { providers } });
  for (const name of names) {
    const proxy = await openProxy(cloud.authUrl);
    proxies.push(proxy);
    providers[name] = {
      type: 'openstack',
      fields: {
        authUrl: proxy.endpoint,
        gateway: true,
        applicationCredentialId: 'credential-1',
        applicationCredentialSecret: secret,
        networks: ['net-1'],
        floatingNetwork: 'public',
      },
      hardware: { small: flavor },
      images: { debian: image },
    };
  }
});
afterAll(async () => {
  await stack.stop();
  for (const proxy of proxies) await proxy.close();
  await cloud.close();
});

test('a machine is made of one port, one address and one server, whichever call its worker is killed at', async () => {
  // Nothing boots here: CONFIRM goes on waiting.
  cloud.boots = false;
  const first = await stack.startWorker('first');
  const held = names.map(
    (name, index) =>
      new Promise<void>((resolve) => {
        proxies[index]?.set(({ method, path }) => {
          if (method !== 'POST' || !path.endsWith(making[name])) return undefined;
          resolve();
          return { kind: 'hold' };
        });
      }),
  );
  await Promise.all(
    names.map((name) =>
      stack.client.apply(
        closed({
          name,
          nodes: { app: { count: 1, provider: name, hardware: 'small', image: 'debian', services: [] } },
        }),
      ),
    ),
  );
  await Promise.all(held);
  await first.kill();
  for (const proxy of proxies) proxy.clear();
  await stack.startWorker('second');
  await until('all machines to be confirmed', async () => {
    const all = await Promise.all(names.map((name) => stack.client.status(name)));
    return all.every(({ nodes }) => nodes.some(({ current }) => current?.action === 'CONFIRM'));
  });
  const owners = [...cloud.servers.values()].map(
    ({ metadata }) => /"heddle-cluster":"(\w+)"/.exec(JSON.stringify(metadata))?.[1] ?? '',
  );
  expect(owners.toSorted()).toEqual(names.toSorted());
  const ownersOf = (parts: ReadonlyMap<string, { readonly [name: string]: unknown }>) =>
    [...parts.values()].map(({ description }) => /heddle-cluster=(\w+)/.exec(String(description))?.[1] ?? '');
  expect(ownersOf(cloud.ports).toSorted()).toEqual(names.toSorted());
  expect(ownersOf(cloud.floating).toSorted()).toEqual(names.toSorted());
});
