import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { refuseDemand } from '../../../src/model/pool/check-demand.js';
import { viewAllocated } from '../../../src/model/pool/allocated.js';
import { carryOutDue } from '../../../src/model/pool/due.js';
import { addRequest, deleteNode, renewLease } from '../../../src/model/pool/allocate.js';
import { nodeBuilt } from '../../../src/model/pool/outcome.js';
import type { PoolState } from '../../../src/model/pool/state.js';
import { viewRequests } from '../../../src/model/pool/view.js';
import { begin, offer, openPool, providerPool } from './support.js';

function openWith(count: number): PoolState {
  const pool = openPool({ labels: { a: {} }, providerPools: { main: providerPool({ a: offer() }) } });
  for (let index = 1; index <= count; index += 1)
    addRequest(
      pool,
      { id: `uid/app-${index}/1`, labels: ['a'], requester: 'cluster web', tags: { owner: 'web' } },
      10,
    );
  addRequest(pool, { id: 'somebody', labels: ['a'], requester: 'test' }, 10);
  admit(pool, 10);
  return pool;
}

describe('nodes that clusters are allocated', () => {
  it('a node is listed with its tags while it is requested or in use, and other nodes are not listed', () => {
    const pool = openWith(2);
    begin(pool, 'a-1');
    nodeBuilt(pool, 'a-1', 20);
    expect(viewAllocated(pool, '')).toEqual({
      nodes: [
        { key: 'uid/app-1/1', tags: { owner: 'web' }, state: 'running', createdAt: 10 },
        { key: 'uid/app-2/1', tags: { owner: 'web' }, state: 'starting', createdAt: 10 },
      ],
    });
  });

  it('a node has no lease, and is not listed after its deletion', () => {
    const pool = openWith(1);
    for (const node of ['a-1', 'a-2']) {
      begin(pool, node);
      nodeBuilt(pool, node, 20);
    }
    carryOutDue(pool, 1e12);
    expect(
      viewRequests(pool, { ids: ['uid/app-1/1', 'somebody'] }).requests.map(({ state }) => state),
    ).toEqual(['fulfilled', 'expired']);
    expect(renewLease(pool, 'uid/app-1/1', 1e12)).toBe(true);
    expect(pool.requests['uid/app-1/1']?.expiresAt).toBeUndefined();
    deleteNode(pool, 'a-1', 'a test', 1e12);
    expect(viewAllocated(pool, '')).toEqual({ nodes: [] });
    expect(viewRequests(pool, { ids: ['uid/app-1/1'] }).requests[0]?.nodes).toMatchObject([
      { id: 'a-1', lost: true },
    ]);
  });

  it('the list is divided into pages', () => {
    const pool = openWith(501);
    const { nodes, next } = viewAllocated(pool, '');
    expect(nodes).toHaveLength(500);
    expect(viewAllocated(pool, next ?? '')).toMatchObject({ nodes: [{ key: 'uid/app-501/1' }] });
    expect(viewAllocated(pool, next ?? '').next).toBeUndefined();
  });

  it('each demand has one node, with short tags', () => {
    const pool = openWith(0);
    const refusal = (more: object): string | undefined =>
      refuseDemand(pool, { id: 'x', labels: ['a'], requester: 'test', tags: { a: 'b' }, ...more });
    expect(refusal({})).toBeUndefined();
    expect(refusal({ labels: ['a', 'a'] })).toContain('a request with tags must have exactly one label');
    expect(refusal({ tags: { a: 'x'.repeat(3_000) } })).toContain('tags has more than 2048 characters');
  });
});
