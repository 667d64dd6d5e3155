import { expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { addRequest, renewLease } from '../../../src/model/pool/allocate.js';
import { carryOutDue, nextDue } from '../../../src/model/pool/due.js';
import { nodeBuilt } from '../../../src/model/pool/outcome.js';
import type { PoolState } from '../../../src/model/pool/state.js';
import { begin, offer, openPool, providerPool } from './support.js';

function ask(heldMs?: number): PoolState {
  const pool = openPool({ labels: { a: {} }, providerPools: { main: providerPool({ a: offer() }) } });
  addRequest(pool, { id: 'r', labels: ['a'], requester: 'test', heldMs, leaseMs: 5_000 }, 0);
  admit(pool, 0);
  return pool;
}

it('a held request expires if it is not renewed while it waits', () => {
  const pool = ask(1_000);
  expect(nextDue(pool, 1)).toBe(1_000);
  expect(renewLease(pool, 'r', 900)).toBe(true);
  carryOutDue(pool, 1_899);
  expect(pool.requests['r']?.state).toBe('pending');
  carryOutDue(pool, 1_900);
  expect(pool.requests['r']).toBeUndefined();
  expect(pool.ended).toMatchObject([{ id: 'r', how: 'expired' }]);
});

it('a held request has its whole lease once it is fulfilled', () => {
  const pool = ask(1_000);
  begin(pool, 'a-1');
  nodeBuilt(pool, 'a-1', 999);
  carryOutDue(pool, 2_000);
  expect(pool.requests['r']).toMatchObject({ state: 'fulfilled', expiresAt: 5_999 });
});

it('a request that is not held waits without renewal', () => {
  const pool = ask();
  expect(renewLease(pool, 'r', 1)).toBe(false);
  carryOutDue(pool, 1e9);
  expect(pool.requests['r']?.state).toBe('pending');
});
