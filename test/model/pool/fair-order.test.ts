import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { addRequest, returnNodes } from '../../../src/model/pool/allocate.js';
import { packPool, unpackPool } from '../../../src/model/pool/carry.js';
import { nodeBuilt, nodeGone } from '../../../src/model/pool/outcome.js';
import type { PoolState } from '../../../src/model/pool/state.js';
import { begin, offer, openPool, providerPool, type Wanted } from './support.js';

const minute = 60_000;

function fairPool(nodes: number, more: Partial<Wanted> = {}): PoolState {
  const pool = openPool({
    labels: { a: {} },
    providerPools: { main: providerPool({ a: offer() }, { limits: { nodes } }) },
    ...more,
  });
  return pool;
}

interface Demanded {
  readonly id: string;
  readonly tenant?: string;
  readonly count?: number;
  readonly priority?: number;
}

/** Requests that arrive while the pool is full, so that the order decides. */
function ask(pool: PoolState, { id, count = 1, ...more }: Demanded, now: number): void {
  const labels = Array.from({ length: count }, () => 'a');
  addRequest(pool, { id, labels, requester: 'test', ...more }, now);
}

function settle(pool: PoolState, now: number): void {
  for (const { id, state } of Object.values(pool.nodes)) {
    if (state === 'deleting') nodeGone(pool, id, now);
    if (state !== 'building') continue;
    begin(pool, id);
    nodeBuilt(pool, id, now);
  }
  admit(pool, now);
}

/** Nodes of each tenant; those without one under `-`. */
function shares(pool: PoolState): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { request, tenant = '-' } of Object.values(pool.nodes))
    if (request !== undefined) counts[tenant] = (counts[tenant] ?? 0) + 1;
  return counts;
}

const served = (pool: PoolState): readonly string[] =>
  Object.values(pool.requests).flatMap(({ id, state }) => (state === 'requested' ? [] : [id]));

describe('fairness between tenants', () => {
  it('gives tenants the same number of nodes, however many requests came first', () => {
    const pool = fairPool(6);
    for (let index = 0; index < 20; index += 1) ask(pool, { id: `flood-${index}`, tenant: 'flood' }, 1);
    for (let index = 0; index < 5; index += 1) ask(pool, { id: `acme-${index}`, tenant: 'acme' }, 2);
    for (let index = 0; index < 5; index += 1) ask(pool, { id: `none-${index}` }, 3);
    admit(pool, 4);
    expect(shares(pool)).toEqual({ flood: 2, acme: 2, '-': 2 });
  });

  it('divides nodes by the weights', () => {
    const pool = fairPool(8, { weights: { acme: 3 } });
    for (let index = 0; index < 20; index += 1) {
      ask(pool, { id: `flood-${index}`, tenant: 'flood' }, 1);
      ask(pool, { id: `acme-${index}`, tenant: 'acme' }, 1);
    }
    admit(pool, 2);
    expect(shares(pool)).toEqual({ flood: 2, acme: 6 });
  });

  it('counts nodes in use, and those that are being created, and no longer returned ones', () => {
    const pool = fairPool(4);
    for (let index = 0; index < 4; index += 1) ask(pool, { id: `acme-${index}`, tenant: 'acme' }, 1);
    admit(pool, 1);
    settle(pool, 2);
    ask(pool, { id: 'acme-late', tenant: 'acme' }, 3);
    ask(pool, { id: 'beta-1', tenant: 'beta' }, 4);
    ask(pool, { id: 'beta-2', tenant: 'beta' }, 4);
    for (const id of ['acme-0', 'acme-1']) returnNodes(pool, id, 'returned', 5);
    settle(pool, 6);
    expect(shares(pool)).toEqual({ acme: 2, beta: 2 });
  });

  it('comes after the priority', () => {
    const pool = fairPool(2);
    ask(pool, { id: 'low', tenant: 'acme', priority: 200 }, 1);
    for (const id of ['beta-1', 'beta-2']) ask(pool, { id, tenant: 'beta', priority: 50 }, 2);
    admit(pool, 3);
    expect(shares(pool)).toEqual({ beta: 2 });
  });

  it('serves the requests of one tenant by arrival', () => {
    const pool = fairPool(2);
    for (const id of ['one', 'two', 'three']) ask(pool, { id, tenant: 'acme' }, 1);
    admit(pool, 2);
    expect(served(pool)).toEqual(['one', 'two']);
  });

  it('does not let small requests of others starve a large one of a tenant that has nodes', () => {
    const pool = fairPool(10);
    for (let index = 0; index < 2; index += 1) ask(pool, { id: `beta-${index}`, tenant: 'beta' }, 1);
    admit(pool, 1);
    ask(pool, { id: 'large', tenant: 'beta', count: 8 }, 2);
    let now = 3;
    // The others have fewer nodes than beta at any time, and ask again at once.
    for (let step = 0; step < 200 && !served(pool).includes('large'); step += 1) {
      for (const tenant of ['c', 'd']) {
        const id = `${tenant}-${step}`;
        ask(pool, { id, tenant }, now);
        if (step > 0) returnNodes(pool, `${tenant}-${step - 1}`, 'returned', now);
      }
      settle(pool, (now += 30_000));
    }
    expect(served(pool)).toContain('large');
    expect(now).toBeLessThan(15 * minute);
  });

  it('treats a tenant of any name like the others, also after it continued as new', () => {
    const pool = fairPool(2);
    for (const tenant of ['__proto__', 'constructor'])
      for (let index = 0; index < 3; index += 1) ask(pool, { id: `${tenant}-${index}`, tenant }, 1);
    admit(pool, 2);
    expect(served(pool)).toEqual(['__proto__-0', 'constructor-0']);
    const next = unpackPool(JSON.parse(JSON.stringify(packPool(pool))) as ReturnType<typeof packPool>);
    for (const id of ['__proto__-0', 'constructor-0']) returnNodes(next, id, 'returned', 3);
    settle(next, 4);
    expect(served(next)).toEqual(['__proto__-1', 'constructor-1']);
  });

  it('remembers the last service of a limited number of tenants, the latest ones', () => {
    const pool = fairPool(10_000);
    for (let index = 0; index < 1_500; index += 1) {
      ask(pool, { id: `r-${index}`, tenant: `tenant-${index}` }, index);
      if (index % 100 === 99) admit(pool, index);
    }
    admit(pool, 1_500);
    const remembered = Object.keys(pool.servedAt ?? {});
    expect(remembered).toHaveLength(1_000);
    expect(remembered).toContain('tenant-1499');
    expect(remembered).not.toContain('tenant-0');
  });

  it('says which tenant comes first', () => {
    const pool = fairPool(1);
    ask(pool, { id: 'one', tenant: 'acme' }, 1);
    admit(pool, 1);
    ask(pool, { id: 'two', tenant: 'beta' }, 2);
    ask(pool, { id: 'three', tenant: 'gamma' }, 3);
    ask(pool, { id: 'four' }, 4);
    admit(pool, 4);
    expect(pool.requests['two']?.waits).toBe('provider pool main: 1 node over its limit of 1 node');
    expect(pool.requests['three']?.waits).toBe('provider pool main: requests of tenant beta come first');
    expect(pool.requests['four']?.waits).toBe('provider pool main: requests of tenant beta come first');
  });
});
