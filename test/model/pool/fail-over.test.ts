import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { addRequest, returnNodes } from '../../../src/model/pool/allocate.js';
import { failOver } from '../../../src/model/pool/fail-over.js';
import { carryOutDue, nextDue } from '../../../src/model/pool/due.js';
import { launchFailed, nodeBuilt } from '../../../src/model/pool/outcome.js';
import type { LabelSpec } from '../../../src/model/pool/spec.js';
import { changePoolNode, type PoolState } from '../../../src/model/pool/state.js';
import { viewNode, viewPool, viewRequests } from '../../../src/model/pool/view.js';
import { begin, offer, openPool, providerPool } from './support.js';

const patience = 45_000;

function open(label: Partial<LabelSpec> = {}): PoolState {
  return openPool({
    labels: { a: label },
    providerPools: {
      first: providerPool({ a: offer() }, { priority: 1, provider: 'one' }),
      second: providerPool({ a: offer() }, { priority: 2, provider: 'two' }),
    },
  });
}

function ask(pool: PoolState, id: string, now: number, labels: readonly string[] = ['a']): void {
  addRequest(pool, { id, labels, requester: 'test' }, now);
  admit(pool, now);
}

/** As the workflow notes it when it asks for machines, and when they were accepted. */
function askProvider(pool: PoolState, id: string, now: number, acceptedAt?: number): void {
  begin(pool, id);
  changePoolNode(pool, id, (node) => ({ ...node, askedAt: now, acceptedAt }));
}

function step(pool: PoolState, now: number): void {
  carryOutDue(pool, now);
  admit(pool, now);
}

const placeOf = (pool: PoolState, request: string): string | undefined =>
  pool.requests[request]?.providerPool;

describe('a request', () => {
  it('moves to another provider pool within a minute if a provider does not accept its machine', () => {
    const pool = open();
    ask(pool, 'r', 1);
    askProvider(pool, 'a-1', 1);
    expect(nextDue(pool, 2)).toBe(1 + patience);
    step(pool, patience);
    expect(placeOf(pool, 'r')).toBe('first');
    step(pool, 1 + patience);
    expect(placeOf(pool, 'r')).toBe('second');
    expect(pool.nodes['a-1']?.state).toBe('deleting');
    expect(viewRequests(pool, { ids: ['r'] }).requests).toMatchObject([
      {
        state: 'pending',
        lastFailure: 'first: a-1 was not accepted by its provider in time',
        making: ['a-2'],
      },
    ]);
    // What failed before does not matter once it has its nodes.
    nodeBuilt(pool, 'a-2', patience + 2);
    expect(pool.requests['r']).toMatchObject({ state: 'fulfilled' });
    expect(pool.requests['r']).not.toHaveProperty('lastFailure');
    // Later ones do not wait for it again.
    ask(pool, 's', patience + 2);
    expect(placeOf(pool, 's')).toBe('second');
  });

  it('gives a provider twice the time that it was given before, so that it does not move for ever', () => {
    const pool = open();
    ask(pool, 'r', 1);
    askProvider(pool, 'a-1', 1);
    step(pool, 1 + patience);
    const again = 10 * patience;
    askProvider(pool, 'a-2', again);
    step(pool, again + patience);
    expect(placeOf(pool, 'r')).toBe('first');
    askProvider(pool, 'a-3', 2 * again);
    step(pool, 2 * again + 2 * patience - 1);
    expect(placeOf(pool, 'r')).toBe('first');
    step(pool, 2 * again + 2 * patience);
    expect(placeOf(pool, 'r')).toBe('second');
  });

  it('stays where no other provider pool could serve it', () => {
    const pool = open();
    ask(pool, 'r', 1);
    askProvider(pool, 'a-1', 1);
    pool.paused['second/a'] = { since: 1, until: 1e9, why: 'full', times: 1 };
    step(pool, 10 * patience);
    expect(pool.requests['r']).toMatchObject({ state: 'pending', nodes: ['a-1'] });
    expect(nextDue(pool, 10 * patience)).toBe(1e9);
  });

  it('moves if its machine boots much more slowly than those of another provider pool; the machine goes on', () => {
    const pool = open();
    pool.launchTimes = { 'second/a': { acceptedMs: 100, readyMs: 5_000 } };
    ask(pool, 'r', 1);
    askProvider(pool, 'a-1', 1, 2);
    step(pool, 1 + patience);
    expect(placeOf(pool, 'r')).toBe('second');
    expect(pool.nodes['a-1']).toMatchObject({ state: 'building' });
    nodeBuilt(pool, 'a-1', 180_001);
    expect(pool.launchTimes['first/a']).toEqual({ acceptedMs: 1, readyMs: 180_000 });
  });

  it('waits for twice the usual time of a provider', () => {
    const pool = open();
    pool.launchTimes = {
      'first/a': { acceptedMs: 40_000, readyMs: 180_000 },
      'second/a': { acceptedMs: 100, readyMs: 5_000 },
    };
    ask(pool, 'r', 0);
    askProvider(pool, 'a-1', 0);
    step(pool, 79_999);
    expect(placeOf(pool, 'r')).toBe('first');
    changePoolNode(pool, 'a-1', (node) => ({ ...node, acceptedAt: 79_999 }));
    step(pool, 359_999);
    expect(placeOf(pool, 'r')).toBe('first');
    step(pool, 360_000);
    expect(placeOf(pool, 'r')).toBe('second');
  });
});

describe('nodes that are kept ready', () => {
  it('another provider creates them if one refuses, and their label says why some are missing', () => {
    const pool = open({ minReady: 2 });
    step(pool, 1);
    expect(viewPool(pool, 1).labels['a']?.lacks).toBe('nodes are being created');
    for (const id of ['a-1', 'a-2']) askProvider(pool, id, 1);
    step(pool, 1 + patience);
    expect(Object.values(pool.nodes).map(({ state, providerPool: place }) => `${place} ${state}`)).toEqual([
      'first deleting',
      'first deleting',
      'second building',
      'second building',
    ]);
    expect(viewPool(pool, 1 + patience).labels['a']?.lacks).toBe(
      'first: a-2 was not accepted by its provider in time (tried again later)',
    );
    for (const id of ['a-3', 'a-4']) nodeBuilt(pool, id, 2 * patience);
    expect(viewPool(pool, 2 * patience).labels['a']?.lacks).toBeUndefined();
  });

  it('show the last failure of a machine until one is ready', () => {
    const pool = open({ minReady: 1 });
    step(pool, 1);
    askProvider(pool, 'a-1', 1);
    launchFailed(pool, 'a-1', { kind: 'MachineFailed', message: 'no boot device' }, 2);
    expect(viewPool(pool, 3).labels['a']?.lacks).toBe('first: no boot device (tried again later)');
    const node = pool.nodes['a-1'];
    expect(node === undefined ? undefined : viewNode(pool, node).why).toBe('was not built: no boot device');
  });
});

describe('a set of a label with `failOver: node`', () => {
  const set = (): PoolState => {
    const pool = open({ failOver: 'node' });
    ask(pool, 'r', 1, ['a', 'a', 'a']);
    for (const id of ['a-1', 'a-2', 'a-3']) askProvider(pool, id, 1);
    return pool;
  };
  const nodesOf = (pool: PoolState): readonly string[] =>
    (pool.requests['r']?.nodes ?? []).map((id) => `${id} ${pool.nodes[id]?.providerPool}`);

  it('gets another node for one that its provider does not accept, and keeps the others', () => {
    const pool = set();
    nodeBuilt(pool, 'a-1', 10);
    changePoolNode(pool, 'a-3', (node) => ({ ...node, acceptedAt: 11 }));
    step(pool, 1 + patience);
    expect(nodesOf(pool)).toEqual(['a-1 first', 'a-4 second', 'a-3 first']);
    expect(pool.nodes['a-2']?.state).toBe('deleting');
    expect(pool.requests['r']?.lastFailure).toBe('first: a-2 was not accepted by its provider in time');
    for (const id of ['a-3', 'a-4']) nodeBuilt(pool, id, 2 + patience);
    const [request] = viewRequests(pool, { ids: ['r'] }).requests;
    expect(request).toMatchObject({
      state: 'fulfilled',
      nodes: [{ providerPool: 'first' }, { providerPool: 'second' }, { providerPool: 'first' }],
    });
  });

  it('shows no failure of a node if a ready one in its place made it whole', () => {
    const pool = open({ failOver: 'node', onReturn: 'reuse' });
    pool.paused['first/a'] = { since: 0, until: 5, why: 'full', times: 1 };
    ask(pool, 'before', 1);
    nodeBuilt(pool, 'a-1', 2);
    returnNodes(pool, 'before', 'returned', 3);
    step(pool, 6);
    ask(pool, 'r', 7, ['a', 'a']);
    for (const id of ['a-2', 'a-3']) askProvider(pool, id, 7);
    nodeBuilt(pool, 'a-2', 8);
    step(pool, 7 + patience);
    expect(nodesOf(pool)).toEqual(['a-2 first', 'a-1 second']);
    expect(pool.requests['r']).toMatchObject({ state: 'fulfilled' });
    expect(pool.requests['r']).not.toHaveProperty('lastFailure');
  });

  it('gets another node for one that boots too slowly, which becomes a spare node', () => {
    const pool = set();
    pool.launchTimes = { 'second/a': { acceptedMs: 100, readyMs: 5_000 } };
    for (const id of ['a-1', 'a-2', 'a-3']) changePoolNode(pool, id, (node) => ({ ...node, acceptedAt: 2 }));
    for (const id of ['a-1', 'a-3']) nodeBuilt(pool, id, 100);
    // Its provider pool has got quick meanwhile.
    step(pool, 1 + patience);
    expect(nodesOf(pool)).toEqual(['a-1 first', 'a-4 second', 'a-3 first']);
    expect(pool.nodes['a-2']).toMatchObject({ state: 'building' });
    expect(pool.nodes['a-2']).not.toHaveProperty('request');
  });

  it('gets another node in the same provider pool until its launch attempts are used up', () => {
    const pool = set();
    nodeBuilt(pool, 'a-1', 10);
    const fail = (id: string): void => launchFailed(pool, id, { kind: 'Timeout', message: 'silent' }, 20);
    fail('a-2');
    expect(nodesOf(pool)).toEqual(['a-1 first', 'a-4 first', 'a-3 first']);
    fail('a-4');
    fail('a-5');
    expect(nodesOf(pool)).toEqual(['a-1 first', 'a-6 second', 'a-3 first']);
    expect(pool.requests['r']).toMatchObject({ state: 'pending', declined: { first: 'silent' } });
  });

  it('moves as a whole if no other provider pool could serve the node at once', () => {
    const pool = set();
    pool.paused['second/a'] = { since: 1, until: 1e9, why: 'full', times: 1 };
    launchFailed(pool, 'a-2', { kind: 'Capacity', message: 'no room' }, 20);
    expect(pool.requests['r']).toMatchObject({ state: 'requested', nodes: [] });
  });

  it('looks through the nodes as often for many slow ones as for few', () => {
    const looks = (count: number, isFull: boolean): number => {
      const pool = open({ failOver: 'node' });
      ask(
        pool,
        'r',
        1,
        Array.from({ length: count }, () => 'a'),
      );
      for (const id of Object.keys(pool.nodes)) askProvider(pool, id, 1);
      if (isFull) pool.paused['second/a'] = { since: 1, until: 1e9, why: 'full', times: 1 };
      let seen = 0;
      const nodes = new Proxy(pool.nodes, {
        ownKeys: (target) => {
          seen += 1;
          return Reflect.ownKeys(target);
        },
      });
      failOver({ ...pool, nodes }, 1 + patience);
      return seen;
    };
    for (const isFull of [false, true]) expect(looks(40, isFull)).toBe(looks(4, isFull));
  });

  it('takes the same capacity for a slow node and for a whole request only once', () => {
    const pool = open({ failOver: 'node' });
    const second = pool.spec?.providerPools['second'];
    if (second !== undefined) Object.assign(second, { limits: { nodes: 2 } });
    ask(pool, 'one', 1);
    ask(pool, 'two', 1, ['a', 'a']);
    for (const id of ['a-1', 'a-2', 'a-3']) askProvider(pool, id, 1);
    step(pool, 1 + patience);
    const there = Object.values(pool.nodes).filter(({ providerPool: place }) => place === 'second');
    expect(there).toHaveLength(2);
    expect(placeOf(pool, 'one')).toBe('second');
  });

  it('exceeds no limit of its tenant', () => {
    const pool = open({ failOver: 'node' });
    if (pool.spec !== undefined) pool.spec = { ...pool.spec, tenants: { acme: { nodes: 2 } } };
    addRequest(pool, { id: 'r', labels: ['a', 'a'], requester: 'test', tenant: 'acme' }, 1);
    admit(pool, 1);
    for (const id of ['a-1', 'a-2']) askProvider(pool, id, 1);
    nodeBuilt(pool, 'a-1', 10);
    step(pool, 1 + patience);
    expect(nodesOf(pool)).toEqual(['a-1 first', 'a-3 second']);
    expect(viewPool(pool, 1 + patience).tenants['acme']?.used).toEqual({ nodes: 2 });
  });
});
