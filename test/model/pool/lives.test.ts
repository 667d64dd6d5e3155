import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { carryOutDue, nextDue } from '../../../src/model/pool/due.js';
import { addRequest, returnNodes } from '../../../src/model/pool/allocate.js';
import {
  nodeBuilt,
  nodeRestarted,
  nodeUnhealthy,
  nodeHealthy,
  postpone,
} from '../../../src/model/pool/outcome.js';
import type { OfferSpec, ProviderPoolSpec } from '../../../src/model/pool/spec.js';
import type { PoolState } from '../../../src/model/pool/state.js';
import { begin, offer, openPool, providerPool, reconfigure } from './support.js';

const minute = 60_000;

function open(more: Partial<OfferSpec>, provider: Partial<ProviderPoolSpec> = {}): PoolState {
  return openPool({ labels: { a: {} }, providerPools: { main: providerPool({ a: offer(more) }, provider) } });
}

function ask(pool: PoolState, id: string, now: number): void {
  addRequest(pool, { id, labels: ['a'], requester: 'test' }, now);
  admit(pool, now);
}

function built(pool: PoolState, id: string, now: number): void {
  begin(pool, id);
  nodeBuilt(pool, id, now);
}

const stateOf = (pool: PoolState, id: string): string | undefined => pool.nodes[id]?.state;
const nodeOf = (pool: PoolState, request: string): string => pool.requests[request]?.nodes[0] ?? '';

describe('machines that several nodes share', () => {
  it('stay for their minimum retention after the last of their nodes, and serve requests meanwhile', () => {
    const pool = open({ slots: 2, minRetention: 5 * 60 });
    ask(pool, 'one', 0);
    built(pool, 'a-1', 10);
    returnNodes(pool, 'one', 'returned', minute);
    expect(nextDue(pool, minute)).toBe(6 * minute);
    carryOutDue(pool, 5 * minute);
    expect(stateOf(pool, 'a-1')).toBe('ready');
    ask(pool, 'two', 5.5 * minute);
    expect(pool.nodes[nodeOf(pool, 'two')]?.backing).toBe('a-1');
    carryOutDue(pool, 60 * minute);
    expect(stateOf(pool, 'a-1')).toBe('ready');
    returnNodes(pool, 'two', 'returned', 61 * minute);
    carryOutDue(pool, 66 * minute);
    expect(stateOf(pool, 'a-1')).toBe('deleting');
  });

  it('get no new nodes after their maximum age, and are deleted when they are empty', () => {
    const pool = open({ slots: 2, maxAge: 10 * 60, minRetention: 60 * 60 });
    ask(pool, 'one', 0);
    built(pool, 'a-1', 10);
    ask(pool, 'two', 11 * minute);
    const machine = pool.nodes[nodeOf(pool, 'two')]?.backing ?? '';
    expect(machine).not.toBe('a-1');
    carryOutDue(pool, 12 * minute);
    expect(stateOf(pool, 'a-1')).toBe('ready');
    returnNodes(pool, 'one', 'returned', 13 * minute);
    carryOutDue(pool, 13 * minute);
    expect([stateOf(pool, 'a-1'), stateOf(pool, machine)]).toEqual(['deleting', 'building']);
  });

  it('a shared machine in use is not deleted, even if the pool changes and a request waits for room', () => {
    const labels = { a: {}, b: {} };
    const cloud = { main: providerPool({ a: offer({ slots: 2 }), b: offer() }, { limits: { nodes: 1 } }) };
    const pool = openPool({ labels, providerPools: cloud });
    ask(pool, 'one', 0);
    built(pool, 'a-1', 10);
    reconfigure(pool, { labels, providerPools: cloud }, 'newer');
    addRequest(pool, { id: 'two', labels: ['b'], requester: 'test' }, 20);
    admit(pool, 20);
    expect(stateOf(pool, 'a-1')).toBe('ready');
    returnNodes(pool, 'one', 'returned', 30);
    carryOutDue(pool, 30);
    expect(stateOf(pool, 'a-1')).toBe('deleting');
  });

  it('leave service when a check finds them unhealthy: present users stay, no new ones come', () => {
    const pool = open({ slots: 2 });
    ask(pool, 'one', 0);
    built(pool, 'a-1', 10);
    nodeUnhealthy(pool, 'a-1', 'does not answer', 20);
    expect(stateOf(pool, 'a-1')).toBe('failed');
    expect(pool.requests['one']?.state).toBe('fulfilled');
    ask(pool, 'two', 30);
    expect(pool.nodes[nodeOf(pool, 'two')]?.backing).not.toBe('a-1');
    returnNodes(pool, 'one', 'returned', 40);
    carryOutDue(pool, 40);
    expect(pool.nodes['a-1']).toMatchObject({ state: 'deleting', why: 'does not answer' });
  });
});

describe('existing machines', () => {
  it('a machine that does not answer counts but is not allocated until it answers again', () => {
    const pool = open({}, { keepUnwell: true, limits: { nodes: 1 } });
    ask(pool, 'one', 0);
    built(pool, 'a-1', 10);
    pool.spec = {
      ...pool.spec,
      labels: { a: { minReady: 0, spareAge: 1_000_000, onReturn: 'reuse' } },
    } as NonNullable<PoolState['spec']>;
    returnNodes(pool, 'one', 'returned', 20);
    nodeUnhealthy(pool, 'a-1', 'does not answer', 30);
    ask(pool, 'two', 40);
    carryOutDue(pool, 1e6);
    admit(pool, 1e6);
    expect([stateOf(pool, 'a-1'), pool.requests['two']?.state, Object.keys(pool.nodes).length]).toEqual([
      'failed',
      'requested',
      1,
    ]);
    nodeHealthy(pool, 'a-1', 1e6 + 1);
    admit(pool, 1e6 + 1);
    expect([stateOf(pool, 'a-1'), nodeOf(pool, 'two')]).toEqual(['in-use', 'a-1']);
  });

  it('return after a restart too, without their boot id', () => {
    const pool = open({}, { keepUnwell: true });
    ask(pool, 'one', 0);
    built(pool, 'a-1', 10);
    const node = pool.nodes['a-1'];
    if (node !== undefined)
      pool.nodes['a-1'] = {
        ...node,
        state: 'failed',
        machine: { ...node.machine, payload: { ipaddress: '127.0.0.1', 'boot-id': 'first' } },
      };
    nodeRestarted(pool, 'a-1', 20);
    expect(pool.nodes['a-1']).toMatchObject({
      state: 'ready',
      machine: { payload: { ipaddress: '127.0.0.1' } },
    });
    expect(pool.nodes['a-1']?.machine.payload).not.toHaveProperty('boot-id');
  });
});

describe('a deletion that is tried again', () => {
  it('is due at its time, and wakes the pool no more while it is under way', () => {
    const pool = open({});
    ask(pool, 'r', 1);
    built(pool, 'a-1', 2);
    returnNodes(pool, 'r', 'returned', 3);
    postpone(pool, 'a-1', 'is not deleted yet', minute);
    expect(nextDue(pool, 10)).toBe(minute);
    expect(nextDue(pool, minute)).toBeUndefined();
    expect(stateOf(pool, 'a-1')).toBe('deleting');
  });
});
