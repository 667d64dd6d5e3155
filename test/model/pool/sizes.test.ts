import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { addRequest } from '../../../src/model/pool/allocate.js';
import { noteSizes, usesOf } from '../../../src/model/pool/sizes.js';
import type { PoolState } from '../../../src/model/pool/state.js';
import { begin, offer, openPool, providerPool } from './support.js';

function open(uses = { nodes: 1 } as Readonly<Record<string, number>>): PoolState {
  const pool = openPool({
    labels: { a: {} },
    providerPools: { main: providerPool({ a: offer({ uses }) }, { limits: { cores: 4 } }) },
  });
  return pool;
}

function ask(pool: PoolState, id: string): void {
  addRequest(pool, { id, labels: ['a'], requester: 'test' }, 1);
  admit(pool, 1);
}

const sizes = { small: { cores: 2, memory: 4_096 } };

describe('what a machine takes', () => {
  it("follows from its hardware once the account's was read, for present nodes too", () => {
    const pool = open();
    ask(pool, 'r');
    expect(pool.nodes['a-1']?.uses).toEqual({ nodes: 1 });
    noteSizes(pool, 'cloud', sizes);
    expect(pool.nodes['a-1']?.uses).toEqual({ nodes: 1, cores: 2, memory: 4_096 });
    ask(pool, 's');
    ask(pool, 't');
    expect(pool.requests['s']?.state).toBe('pending');
    expect(pool.requests['t']?.waits).toBe('provider pool main: 2 cores over its limit of 4 cores');
  });

  it('stays what it was when the machine was made, whatever hardware its label has later', () => {
    const pool = open();
    ask(pool, 'r');
    begin(pool, 'a-1');
    noteSizes(pool, 'cloud', sizes);
    const { main = {} } = pool.placements;
    const large = { small: { cores: 2, memory: 4_096 }, large: { cores: 8, memory: 16_384 } };
    if (main['a'] !== undefined) pool.placements = { main: { a: { ...main['a'], flavor: 'large' } } };
    noteSizes(pool, 'cloud', large);
    expect(pool.nodes['a-1']?.uses).toEqual({ nodes: 1, cores: 2, memory: 4_096 });
    expect(usesOf(pool, 'main', 'a')).toEqual({ nodes: 1, cores: 8, memory: 16_384 });
  });

  it('follows from the hardware that the machine was made with, if that is known only later', () => {
    const pool = open();
    ask(pool, 'r');
    begin(pool, 'a-1');
    const { main = {} } = pool.placements;
    if (main['a'] !== undefined) pool.placements = { main: { a: { ...main['a'], flavor: 'large' } } };
    noteSizes(pool, 'cloud', { ...sizes, large: { cores: 8 } });
    expect(pool.nodes['a-1']?.uses).toEqual({ nodes: 1, cores: 2, memory: 4_096 });
  });

  it('is what `uses` says, if it says anything', () => {
    const pool = open({ nodes: 1, cores: 1 });
    noteSizes(pool, 'cloud', sizes);
    expect(usesOf(pool, 'main', 'a')).toEqual({ nodes: 1, cores: 1 });
  });

  it('declines a request whose machine is larger than the quota of the account', () => {
    const pool = open();
    noteSizes(pool, 'cloud', { small: { cores: 2, memory: 9_000 } });
    pool.quotas['cloud'] = { limits: { memory: 8_000 }, total: { memory: 8_000 }, readAt: 1 };
    ask(pool, 'r');
    expect(pool.requests['r']).toMatchObject({
      state: 'failed',
      declined: { main: 'the quota of account cloud is too small: 9000 memory needed, 8000 allowed' },
    });
  });
});
