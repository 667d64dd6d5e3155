import { expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { refuseExport } from '../../../src/model/pool/export.js';
import type { ProviderTraits } from '../../../src/model/pool/spec.js';
import { changePoolNode, type PoolState } from '../../../src/model/pool/state.js';
import { begin, offer, openPool, providerPool } from './support.js';

const free: ProviderTraits = { deleteWithinMs: 120_000, claims: false };
const claiming: ProviderTraits = { ...free, claims: true };

/** With one node, of type `memory`. */
function open(providerTypes?: Readonly<Record<string, ProviderTraits>>): PoolState {
  const pool = openPool({
    labels: { a: { minReady: 1 } },
    providerPools: { main: providerPool({ a: offer() }) },
  });
  admit(pool, 0);
  begin(pool, 'a-1');
  if (providerTypes !== undefined) pool.providerTypes = providerTypes;
  return pool;
}

it('a pool is exported only if the machines of all of its nodes are known to be able to move', () => {
  expect(refuseExport(open({ memory: free }))).toBeUndefined();
  expect(refuseExport(open({ memory: claiming }))).toContain(
    'the allocation of machines of provider pool main',
  );
  expect(refuseExport(open())).toContain('it is unknown whether machines of provider pool main');
});

it('a pool is not exported while nodes are left of a provider pool that it no longer has', () => {
  const pool = open({ memory: free });
  const moveTo = (type: string): void =>
    changePoolNode(pool, 'a-1', ({ machine, ...node }) => ({
      ...node,
      providerPool: 'shelf',
      machine:
        machine.placement === undefined ? machine : { ...machine, placement: { ...machine.placement, type } },
    }));
  moveTo('static');
  expect(refuseExport(pool)).toContain('provider pool shelf (type static)');
  pool.providerTypes = { memory: free, static: claiming };
  expect(refuseExport(pool)).toContain('the allocation of machines of provider pool shelf');
});
