import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { addRequest, returnNodes, holdNode } from '../../../src/model/pool/allocate.js';
import { carryOutDue, nextDue, quotaDueAt } from '../../../src/model/pool/due.js';
import { launchFailed, nodeBuilt, nodeGone } from '../../../src/model/pool/outcome.js';
import type { PoolState } from '../../../src/model/pool/state.js';
import { begin, offer, openPool, providerPool, reconfigure, type Wanted } from './support.js';

let now = 0;

function ask(pool: PoolState, id: string, labels: readonly string[], more: object = {}): void {
  addRequest(pool, { id, labels, requester: 'test', ...more }, (now += 1));
  admit(pool, now);
}

function build(pool: PoolState): void {
  for (const { id, state, backing } of Object.values(pool.nodes)) {
    if (state !== 'building' || backing !== undefined) continue;
    begin(pool, id);
    nodeBuilt(pool, id, (now += 1));
  }
  admit(pool, now);
}

function giveAll(pool: PoolState, id: string): void {
  returnNodes(pool, id, 'returned', (now += 1));
  admit(pool, now);
}

function removeAll(pool: PoolState): void {
  for (const { id, state } of Object.values(pool.nodes))
    if (state === 'deleting') nodeGone(pool, id, (now += 1));
  admit(pool, now);
}

const inState = (pool: PoolState, state: string): readonly string[] =>
  Object.values(pool.nodes)
    .filter((node) => node.state === state)
    .map(({ id }) => id);
const one: Wanted = {
  labels: { a: {}, b: {} },
  providerPools: { main: providerPool({ a: offer(), b: offer() }, { limits: { nodes: 3 } }) },
};

describe('admission', () => {
  it('allocates ready nodes before it creates new ones', () => {
    const pool = openPool({ ...one, labels: { a: { minReady: 1 }, b: {} } });
    admit(pool, now);
    build(pool);
    ask(pool, 'r', ['a']);
    expect(pool.requests['r']).toMatchObject({ state: 'fulfilled', nodes: ['a-1'] });
    // Another one is made in its place.
    expect(inState(pool, 'building')).toEqual(['a-2']);
  });

  it('creates all nodes of a request in one provider pool, the first by priority with room for all', () => {
    const pool = openPool({
      labels: { a: {}, b: {} },
      providerPools: {
        cheap: providerPool({ a: offer(), b: offer() }, { priority: 1, limits: { nodes: 1 } }),
        large: providerPool({ a: offer(), b: offer() }, { priority: 2 }),
      },
    });
    ask(pool, 'two', ['a', 'b']);
    expect(pool.requests['two']).toMatchObject({ state: 'pending', providerPool: 'large' });
    ask(pool, 'one', ['a']);
    expect(pool.requests['one']).toMatchObject({ providerPool: 'cheap' });
  });

  it('serves by priority, then by arrival', () => {
    const pool = openPool({
      ...one,
      providerPools: { main: providerPool({ a: offer() }, { limits: { nodes: 1 } }) },
    });
    for (const [id, priority] of [
      ['first', 100],
      ['late', 200],
      ['second', 100],
      ['urgent', 1],
    ] as const)
      ask(pool, id, ['a'], { priority });
    const order: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      build(pool);
      const [got] = Object.values(pool.requests).filter(({ state }) => state === 'fulfilled');
      order.push(got?.id ?? '');
      giveAll(pool, got?.id ?? '');
      removeAll(pool);
    }
    expect(order).toEqual(['first', 'urgent', 'second', 'late']);
  });

  it('keeps room for a large request ahead of later ones', () => {
    const pool = openPool(one);
    for (const id of ['x', 'y', 'z']) ask(pool, id, ['a']);
    build(pool);
    ask(pool, 'large', ['a', 'a', 'b']);
    for (let small = 0; small < 5; small += 1) ask(pool, `small-${small}`, ['a']);
    for (const id of ['x', 'y', 'z']) {
      giveAll(pool, id);
      removeAll(pool);
    }
    expect(pool.requests['large']?.state).toBe('pending');
    expect(pool.requests['small-0']).toMatchObject({
      state: 'requested',
      waits: 'provider pool main: 1 node over its limit of 3 nodes',
    });
  });

  it('keeps nodes that become ready again for a large request', () => {
    const pool = openPool({ ...one, labels: { a: { onReturn: 'reuse' }, b: {} } });
    for (const id of ['x', 'y', 'z']) ask(pool, id, ['a']);
    build(pool);
    ask(pool, 'large', ['a', 'a', 'a']);
    for (let small = 0; small < 5; small += 1) ask(pool, `small-${small}`, ['a']);
    for (const id of ['x', 'y', 'z']) giveAll(pool, id);
    expect(pool.requests['large']?.state).toBe('fulfilled');
  });

  it('deletes one idle node, the oldest, for one request that needs the room of one', () => {
    const pool = openPool({ ...one, labels: { a: { minReady: 3 }, b: {} } });
    admit(pool, now);
    build(pool);
    ask(pool, 'r', ['b']);
    for (let pass = 0; pass < 5; pass += 1) admit(pool, (now += 1));
    expect(inState(pool, 'deleting')).toEqual(['a-1']);
    removeAll(pool);
    expect(pool.requests['r']?.state).toBe('pending');
    expect(inState(pool, 'ready')).toEqual(['a-2', 'a-3']);
  });

  it('lets a request wait for a quota, and continues when capacity was freed', () => {
    const pool = openPool(one);
    ask(pool, 'x', ['a']);
    build(pool);
    ask(pool, 'r', ['a']);
    launchFailed(pool, 'a-2', { kind: 'Quota', message: 'over quota' }, (now += 1));
    admit(pool, now);
    expect(pool.requests['r']).toMatchObject({
      state: 'requested',
      waits: 'provider pool main: over quota',
      declined: {},
    });
    giveAll(pool, 'x');
    removeAll(pool);
    expect(pool.requests['r']?.state).toBe('pending');
  });

  it('retries a quota after a while', () => {
    const pool = openPool(one);
    ask(pool, 'r', ['a']);
    launchFailed(pool, 'a-1', { kind: 'Quota', message: 'over quota' }, (now += 1));
    admit(pool, now);
    now = nextDue(pool, now) ?? 0;
    carryOutDue(pool, now);
    admit(pool, now);
    expect(pool.requests['r']?.state).toBe('pending');
  });

  it('never exceeds the quota of the account over all its provider pools', () => {
    const pool = openPool({
      labels: { a: {} },
      providerPools: { one: providerPool({ a: offer() }), two: providerPool({ a: offer() }) },
    });
    pool.quotas['cloud'] = { limits: { nodes: 2 }, total: { nodes: 4 }, readAt: now };
    for (let each = 0; each < 5; each += 1)
      ask(pool, `r${each}`, ['a'], { providerPool: each % 2 === 0 ? 'one' : 'two' });
    expect(inState(pool, 'building')).toHaveLength(2);
  });

  it('waits for the limits of a tenant without blocking others', () => {
    const pool = openPool({ ...one, tenants: { acme: { nodes: 1 } } });
    ask(pool, 'x', ['a'], { tenant: 'acme' });
    ask(pool, 'y', ['a'], { tenant: 'acme' });
    ask(pool, 'z', ['a']);
    expect(pool.requests['y']).toMatchObject({
      state: 'requested',
      waits: "1 node over its tenant's limit of 1 node",
    });
    expect(pool.requests['z']?.state).toBe('pending');
  });

  it('uses another provider pool if one refuses, and fails with each reason if all refuse', () => {
    const pool = openPool({
      labels: { a: {}, b: {} },
      providerPools: {
        one: providerPool({ a: offer() }, { priority: 1, launchAttempts: 2 }),
        two: providerPool({ a: offer() }, { priority: 2 }),
        off: providerPool({ a: offer() }, { limits: { nodes: 0 } }),
        other: providerPool({ b: offer() }),
        small: providerPool({ a: offer({ uses: { nodes: 1, cores: 8 } }) }, { limits: { cores: 4 } }),
      },
    });
    ask(pool, 'r', ['a']);
    for (const id of ['a-1', 'a-2']) {
      expect(pool.requests['r']?.providerPool).toBe('one');
      launchFailed(pool, id, { kind: 'Timeout', message: 'never answered' }, (now += 1));
      admit(pool, now);
    }
    expect(pool.requests['r']?.providerPool).toBe('two');
    launchFailed(pool, 'a-3', { kind: 'Capacity', message: 'no room' }, (now += 1));
    admit(pool, now);
    expect(pool.requests['r']).toMatchObject({
      state: 'failed',
      declined: {
        one: 'never answered',
        two: 'no room',
        off: 'is disabled: its limit is 0 nodes',
        other: 'does not serve label a',
        small: 'its limits are too small: 8 cores needed, 4 allowed',
      },
    });
  });

  it('counts a machine that ended in error as an attempt', () => {
    const pool = openPool({
      labels: { a: {} },
      providerPools: { one: providerPool({ a: offer() }, { launchAttempts: 2 }) },
    });
    ask(pool, 'r', ['a']);
    const failure = { kind: 'MachineFailed', message: 'machine m-1 failed' };
    launchFailed(pool, 'a-1', failure, (now += 1));
    admit(pool, now);
    expect(pool.requests['r']).toMatchObject({ state: 'pending', failures: 1, nodes: ['a-2'] });
    launchFailed(pool, 'a-2', failure, (now += 1));
    admit(pool, now);
    expect(pool.requests['r']).toMatchObject({ state: 'failed', declined: { one: 'machine m-1 failed' } });
  });

  it('reuses the good nodes of a set that could not be completed', () => {
    const pool = openPool(one);
    ask(pool, 'r', ['a', 'a']);
    begin(pool, 'a-1');
    nodeBuilt(pool, 'a-1', (now += 1));
    launchFailed(pool, 'a-2', { kind: 'Timeout', message: 'never answered' }, (now += 1));
    admit(pool, now);
    expect(pool.requests['r']?.nodes).toEqual(['a-1', 'a-3']);
  });

  it('puts several nodes on one machine if the label allows it', () => {
    const pool = openPool({
      labels: { a: {} },
      providerPools: { main: providerPool({ a: offer({ slots: 2 }) }, { limits: { nodes: 2 } }) },
    });
    for (const id of ['x', 'y', 'z']) ask(pool, id, ['a']);
    build(pool);
    const backings = ['x', 'y', 'z'].map((id) => pool.nodes[pool.requests[id]?.nodes[0] ?? '']?.backing);
    expect(backings[0]).toBe(backings[1]);
    expect(new Set(backings).size).toBe(2);
    expect(Object.values(pool.requests).map(({ state }) => state)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ]);
    ask(pool, 'u', ['a']);
    ask(pool, 'v', ['a']);
    expect(pool.requests['v']?.state).toBe('requested');
    giveAll(pool, 'x');
    expect(pool.requests['v']?.state).toBe('fulfilled');
  });
});

describe('the clock of a pool', () => {
  it('reclaims nodes whose holder is gone', () => {
    const pool = openPool(one);
    ask(pool, 'r', ['a'], { leaseMs: 1_000 });
    build(pool);
    now = nextDue(pool, now) ?? 0;
    carryOutDue(pool, now);
    expect(pool.nodes['a-1']?.state).toBe('deleting');
    expect(pool.ended[0]).toMatchObject({ id: 'r', how: 'expired' });
  });

  it("ends a hold at the earlier of its own end and the label's", () => {
    const pool = openPool({ ...one, labels: { a: { maxHoldAge: 5 }, b: {} } });
    ask(pool, 'r', ['a']);
    build(pool);
    const held = (now += 1);
    expect(holdNode(pool, 'a-1', { by: 'me', comment: 'why does it hang', forMs: 60_000 }, held)).toBe(true);
    expect(pool.nodes['a-1']?.hold).toEqual({ by: 'me', comment: 'why does it hang', until: held + 5_000 });
    giveAll(pool, 'r');
    expect(pool.nodes['a-1']?.state).toBe('hold');
    carryOutDue(pool, held + 5_000);
    expect(pool.nodes['a-1']?.state).toBe('deleting');
  });

  it('replaces ready nodes that are too old, and those whose label changed', () => {
    const wanted: Wanted = { ...one, labels: { a: { minReady: 1, maxReadyAge: 9 }, b: {} } };
    const pool = openPool(wanted);
    admit(pool, now);
    build(pool);
    const due = nextDue(pool, now) ?? 0;
    expect(due).toBe((pool.nodes['a-1']?.since ?? 0) + 9_000);
    carryOutDue(pool, (now = due));
    admit(pool, now);
    build(pool);
    expect(inState(pool, 'deleting')).toEqual(['a-1']);
    reconfigure(pool, wanted, 'newer');
    carryOutDue(pool, (now += 1));
    admit(pool, now);
    expect(inState(pool, 'deleting')).toEqual(['a-1', 'a-2']);
    expect(inState(pool, 'building')).toEqual(['a-3']);
  });

  it.each([
    { what: 'a request waits for it', minReady: 0, requests: 2 },
    { what: 'nodes to be kept ready wait for it', minReady: 2, requests: 0 },
  ])("reads an account's quota again while $what, with no other event", ({ minReady, requests }) => {
    const pool = openPool({
      labels: { a: { minReady } },
      providerPools: { main: providerPool({ a: offer() }, { provider: 'cloud' }) },
    });
    const quota = (nodes: number): void => {
      pool.quotas['cloud'] = { limits: { nodes }, total: { nodes: 9 }, readAt: now };
      pool.quotasAskedAt['cloud'] = now;
    };
    quota(1);
    for (let index = 0; index < requests; index += 1) ask(pool, `r${index}`, ['a']);
    admit(pool, now);
    build(pool);
    expect(pool.awaitsQuota).toEqual({ cloud: expect.any(Number) });
    for (let reads = 0; reads < 20; reads += 1) {
      const due = nextDue(pool, now) ?? Infinity;
      expect(due - now).toBeLessThanOrEqual(60_000);
      now = due;
      expect(quotaDueAt(pool, 'cloud')).toBeLessThanOrEqual(now);
      quota(1);
      carryOutDue(pool, now);
      admit(pool, now);
    }
    quota(2);
    admit(pool, now);
    expect(inState(pool, 'building')).toHaveLength(1);
    expect(pool.awaitsQuota).toEqual({});
  });

  it('does nothing while enough nodes are ready', () => {
    const pool = openPool({ ...one, labels: { a: { minReady: 2 }, b: {} } });
    admit(pool, now);
    build(pool);
    expect(nextDue(pool, now)).toBeUndefined();
  });
});
