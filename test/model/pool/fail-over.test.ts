import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { addRequest } from '../../../src/model/pool/allocate.js';
import { carryOutDue, nextDue } from '../../../src/model/pool/due.js';
import { launchFailed, nodeBuilt } from '../../../src/model/pool/outcome.js';
import type { LabelSpec } from '../../../src/model/pool/spec.js';
import { changePoolNode, type PoolState } from '../../../src/model/pool/state.js';
import { viewNode, viewPool, viewRequests } from '../../../src/model/pool/view.js';
import { begin, offer, openPool, providerPool } from './support.js';

const patience = 45_000;

function open(label: Partial<LabelSpec> = {}, isNew = true): PoolState {
  const pool = openPool({
    labels: { a: label },
    providerPools: {
      first: providerPool({ a: offer() }, { priority: 1, provider: 'one' }),
      second: providerPool({ a: offer() }, { priority: 2, provider: 'two' }),
    },
  });
  pool.failsOver = isNew;
  return pool;
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
    pool.paused['two'] = { since: 1, until: 1e9, why: 'full', times: 1 };
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

  it('stays in runs that began with an earlier build', () => {
    const pool = open({}, false);
    ask(pool, 'r', 1);
    askProvider(pool, 'a-1', 1);
    expect(nextDue(pool, 2)).toBeUndefined();
    step(pool, 10 * patience);
    expect(placeOf(pool, 'r')).toBe('first');
  });
});

describe('nodes that are kept ready', () => {
  it('are created elsewhere if a provider does not accept them, and their label says why there are fewer', () => {
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
