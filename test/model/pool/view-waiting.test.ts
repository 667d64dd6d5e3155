import { expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { addRequest } from '../../../src/model/pool/allocate.js';
import { viewWaiting } from '../../../src/model/pool/view-waiting.js';
import { offer, openPool, providerPool } from './support.js';

it('the view of waiting tenants says what each has, what it is entitled to, and what it waits for', () => {
  const pool = openPool({
    labels: { a: {}, b: {} },
    providerPools: {
      main: providerPool({ a: offer() }, { limits: { nodes: 4 } }),
      other: providerPool({ b: offer({ libraryImage: 'web' }) }),
    },
    tenants: { capped: { nodes: 1 } },
    weights: { acme: 2 },
  });
  const ask = (id: string, at: number, tenant?: string, label = 'a'): void =>
    addRequest(pool, { id, labels: [label], requester: 'test', tenant }, at);
  for (let index = 0; index < 2; index += 1) ask(`capped-${index}`, 10, 'capped');
  for (let index = 0; index < 5; index += 1) ask(`acme-${index}`, 20, 'acme');
  ask('acme-image', 21, 'acme', 'b');
  for (let index = 0; index < 3; index += 1) ask(`none-${index}`, 30);
  admit(pool, 40);
  expect(viewWaiting(pool, 40)).toEqual([
    {
      tenant: 'capped',
      waiting: 1,
      oldest: 10,
      nodes: 1,
      weight: 1,
      share: 0.25,
      fairShare: 0.25,
      reasons: [{ why: "1 node over its tenant's limit of 1 node", requests: 1 }],
    },
    {
      tenant: 'acme',
      waiting: 4,
      oldest: 20,
      nodes: 2,
      weight: 2,
      share: 0.5,
      fairShare: 0.5,
      reasons: [
        { why: 'provider pool main: 1 node over its limit of 4 nodes', requests: 3 },
        { why: 'provider pool other: image web does not exist', requests: 1 },
      ],
    },
    {
      waiting: 2,
      oldest: 30,
      nodes: 1,
      weight: 1,
      share: 0.25,
      fairShare: 0.25,
      reasons: [{ why: 'provider pool main: requests of tenant acme come first', requests: 2 }],
    },
  ]);
});

it('the tenant whose request is considered next comes first: by priority, then if it is overdue', () => {
  const pool = openPool({
    labels: { a: {} },
    providerPools: { main: providerPool({ a: offer() }, { limits: { nodes: 3 } }) },
  });
  const ask = (id: string, at: number, tenant: string, priority?: number): void =>
    addRequest(pool, { id, labels: ['a'], requester: 'test', tenant, priority }, at);
  for (const id of ['large-1', 'large-2']) ask(id, 0, 'large');
  ask('urgent-1', 0, 'urgent');
  admit(pool, 0);
  ask('large-3', 1, 'large');
  ask('small-1', 2, 'small');
  ask('urgent-2', 3, 'urgent', 1);
  const order = (now: number): readonly (string | undefined)[] =>
    viewWaiting(pool, now).map(({ tenant }) => tenant);
  expect(order(4)).toEqual(['urgent', 'small', 'large']);
  const before = JSON.stringify(pool);
  // It waits for too long, whatever it has.
  expect(order(10 * 60_000 + 1)).toEqual(['urgent', 'large', 'small']);
  expect(JSON.stringify(pool)).toBe(before);
});
