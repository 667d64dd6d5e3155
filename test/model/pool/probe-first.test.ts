import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { addRequest } from '../../../src/model/pool/allocate.js';
import { carryOutDue, checkedNodes, nextDue } from '../../../src/model/pool/due.js';
import type { PoolNode } from '../../../src/model/pool/node.js';
import { nodeBuilt, nodeHealthy } from '../../../src/model/pool/outcome.js';
import { dueProbes, nodeSilent, nodeUnfit, nodeUnknown } from '../../../src/model/pool/probe-first.js';
import type { OfferSpec, ProviderPoolSpec } from '../../../src/model/pool/spec.js';
import type { PoolState } from '../../../src/model/pool/state.js';
import { viewPool, viewRequests } from '../../../src/model/pool/view.js';
import { begin, offer, openPool, providerPool } from './support.js';

const minute = 60_000;

/** A pool with ready nodes that were made at 0. */
function open(
  minReady: number,
  more: Partial<ProviderPoolSpec> = {},
  shared: Partial<OfferSpec> = {},
): PoolState {
  const pool = openPool({
    labels: { a: { minReady, spareAge: 1_000_000 } },
    providerPools: { main: providerPool({ a: offer(shared) }, more) },
  });
  admit(pool, 0);
  for (const id of Object.keys(pool.nodes)) {
    begin(pool, id);
    nodeBuilt(pool, id, 0);
  }
  return pool;
}

function ask(pool: PoolState, id: string, now: number, labels: readonly string[] = ['a']): void {
  addRequest(pool, { id, labels, requester: 'test' }, now);
  admit(pool, now);
}

const ids = (nodes: readonly PoolNode[]): readonly string[] => nodes.map(({ id }) => id);
const due = (pool: PoolState, now: number, probed: readonly string[] = []) => {
  const { first, second } = dueProbes(pool, (id) => probed.includes(id), now);
  return { first: ids(first), second: ids(second) };
};
const stateOf = (pool: PoolState, id: string) => pool.requests[id]?.state;

describe('a ready node', () => {
  it('is handed out at once if it was seen within the last minute', () => {
    const pool = open(1);
    ask(pool, 'r', minute - 1);
    expect(stateOf(pool, 'r')).toBe('fulfilled');
    expect(due(pool, minute - 1)).toEqual({ first: [], second: [] });
  });

  it('is probed before it is handed out if it was seen earlier, beside two more', () => {
    const pool = open(5);
    ask(pool, 'r', minute);
    expect(pool.requests['r']).toMatchObject({ state: 'pending', nodes: ['a-1'] });
    expect(due(pool, minute)).toEqual({ first: ['a-1', 'a-2', 'a-3'], second: [] });
    // What is being probed is not probed twice, and needs no further substitutes.
    expect(due(pool, minute, ['a-1', 'a-2', 'a-3'])).toEqual({ first: [], second: [] });
    nodeHealthy(pool, 'a-1', minute + 5);
    expect(pool.requests['r']).toMatchObject({ state: 'fulfilled', nodes: ['a-1'] });
    expect(pool.nodes['a-1']).toMatchObject({ state: 'in-use' });
  });

  it('comes after those that were seen lately', () => {
    const pool = open(3);
    nodeHealthy(pool, 'a-3', minute);
    ask(pool, 'r', minute);
    expect(pool.requests['r']).toMatchObject({ state: 'fulfilled', nodes: ['a-3'] });
  });

  it('is always probed where the file says so, once for each request', () => {
    const pool = open(2, { probeAfter: 0.001 });
    ask(pool, 'r', 1, ['a', 'a']);
    expect(due(pool, 1).first).toEqual(['a-1', 'a-2']);
    nodeHealthy(pool, 'a-1', 2);
    expect(due(pool, 10).first).toEqual(['a-2']);
    nodeHealthy(pool, 'a-2', 20);
    expect(stateOf(pool, 'r')).toBe('fulfilled');
  });

  it('that waited for other nodes of its request is probed when all are there', () => {
    const pool = open(1);
    ask(pool, 'r', 10, ['a', 'a']);
    expect(due(pool, 2 * minute).first).toEqual([]);
    nodeBuilt(pool, 'a-2', 2 * minute);
    expect(stateOf(pool, 'r')).toBe('pending');
    expect(due(pool, 2 * minute).first).toEqual(['a-1']);
    nodeHealthy(pool, 'a-1', 2 * minute + 1);
    expect(stateOf(pool, 'r')).toBe('fulfilled');
  });
});

describe('a ready node that does not answer', () => {
  it('gives way to one that does, is probed once more, and is deleted', () => {
    const pool = open(2);
    ask(pool, 'r', minute);
    nodeHealthy(pool, 'a-2', minute + 1);
    nodeSilent(pool, 'a-1', 'a-1 is silent', minute + 2);
    expect(pool.requests['r']).toMatchObject({ state: 'requested', nodes: [] });
    admit(pool, minute + 2);
    expect(pool.requests['r']).toMatchObject({ state: 'fulfilled', nodes: ['a-2'] });
    // What is over in a moment, such as a restart of its SSH server, does not cost it.
    expect(due(pool, minute + 2).second).toEqual([]);
    expect(nextDue(pool, minute + 2)).toBe(minute + 10_002);
    expect(due(pool, minute + 10_002).second).toEqual(['a-1']);
    expect(pool.nodes['a-1']).toMatchObject({ state: 'failed', why: 'a-1 is silent' });
    nodeUnfit(pool, 'a-1', 'a-1 is silent still', minute + 3);
    expect(pool.nodes['a-1']).toMatchObject({ state: 'deleting', why: 'a-1 is silent still' });
    expect(viewPool(pool, minute + 3).labels['a']?.lacks).toContain('main: a-1 is silent still');
  });

  it('is the reason why a request waits for a new one', () => {
    const pool = open(1);
    ask(pool, 'r', minute);
    nodeSilent(pool, 'a-1', 'a-1 is silent', minute + 2);
    admit(pool, minute + 2);
    expect(viewRequests(pool, { ids: ['r'] }).requests).toMatchObject([
      { state: 'pending', making: ['a-2'], lastFailure: 'main: a-1 is silent' },
    ]);
  });

  it('is ready again if it answers the second time', () => {
    const pool = open(1);
    ask(pool, 'r', minute);
    nodeSilent(pool, 'a-1', 'a-1 is silent', minute + 2);
    nodeHealthy(pool, 'a-1', minute + 3);
    admit(pool, minute + 3);
    expect(pool.nodes['a-1']).not.toHaveProperty('silent');
    expect(pool.requests['r']).toMatchObject({ state: 'fulfilled', nodes: ['a-1'] });
  });

  it('is kept as failed where the file says so, and is checked until it answers', () => {
    const pool = open(2, { keepUnwell: true, limits: { nodes: 2 } });
    expect(nextDue(pool, minute)).toBeUndefined();
    ask(pool, 'r', minute);
    nodeSilent(pool, 'a-1', 'a-1 is silent', minute + 2);
    nodeUnfit(pool, 'a-1', 'a-1 is silent', minute + 3);
    expect(pool.nodes['a-1']).toMatchObject({ state: 'failed' });
    expect(due(pool, minute + 3).second).toEqual([]);
    carryOutDue(pool, minute + 3);
    expect(nextDue(pool, minute + 3)).toBe(2 * minute + 3);
    expect(ids(checkedNodes(pool, 'main'))).toEqual(['a-1']);
    nodeHealthy(pool, 'a-1', 3 * minute);
    admit(pool, 3 * minute);
    expect(stateOf(pool, 'r')).toBe('fulfilled');
  });

  it('takes no further nodes if several share it, and their requests get others', () => {
    const pool = open(2, {}, { slots: 2 });
    const [backing = ''] = Object.keys(pool.nodes);
    ask(pool, 'r', minute, ['a', 'a']);
    expect(due(pool, minute).first).toEqual([backing]);
    nodeSilent(pool, backing, 'it is silent', minute + 1);
    admit(pool, minute + 1);
    expect(Object.values(pool.nodes).map(({ id, state }) => `${id} ${state}`)).toEqual([
      'a-1 failed',
      'a-4 building',
      'a-5 building',
      'a-6 building',
      'a-7 building',
    ]);
    carryOutDue(pool, minute + 1);
    expect(pool.nodes[backing]?.state).toBe('failed');
    nodeUnfit(pool, backing, 'it is silent', minute + 2);
    carryOutDue(pool, minute + 2);
    expect(pool.nodes[backing]?.state).toBe('deleting');
  });
});

describe('a probe that could not be made', () => {
  it('hands a ready node out', () => {
    const pool = open(1);
    ask(pool, 'r', minute);
    nodeUnknown(pool, 'a-1', minute + 1);
    expect(stateOf(pool, 'r')).toBe('fulfilled');
  });

  it('deletes no node that did not answer once, and is tried again', () => {
    const pool = open(1);
    ask(pool, 'r', minute);
    nodeSilent(pool, 'a-1', 'a-1 is silent', minute);
    nodeUnknown(pool, 'a-1', minute);
    expect(pool.nodes['a-1']).toMatchObject({ state: 'failed' });
    expect(due(pool, minute).second).toEqual([]);
    expect(nextDue(pool, minute)).toBe(minute + 10_000);
    expect(due(pool, minute + 10_000).second).toEqual(['a-1']);
    expect(nextDue(pool, minute + 10_000)).toBeUndefined();
  });
});
