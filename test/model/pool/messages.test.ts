import { describe, expect, it } from 'vitest';
import type { RequestView } from '../../../src/schema/output/pool.js';
import { admit } from '../../../src/model/pool/admit.js';
import { packPool, unpackPool } from '../../../src/model/pool/carry.js';
import { refuseDemand } from '../../../src/model/pool/check-demand.js';
import {
  refuseDeletion,
  refuseEndHold,
  refuseHold,
  refusePriority,
} from '../../../src/model/pool/check-messages.js';
import { addRequest, returnNodes, holdNode, renewLease } from '../../../src/model/pool/allocate.js';
import { endHold, nodeBuilt, nodeCleaned } from '../../../src/model/pool/outcome.js';
import { nodesWithoutUser } from '../../../src/model/pool/node.js';
import { changePriority, signatureOf } from '../../../src/model/pool/order.js';
import type { PoolState } from '../../../src/model/pool/state.js';
import { viewPool, viewRequests } from '../../../src/model/pool/view.js';
import { begin, offer, openPool, providerPool } from './support.js';

function open(limit = 2): PoolState {
  return openPool({
    labels: { a: { onReturn: 'reuse', cleanUp: { script: 'true' } } },
    providerPools: { main: providerPool({ a: offer() }, { limits: { nodes: limit } }) },
  });
}

function ask(pool: PoolState, id: string, more: object = {}): void {
  addRequest(pool, { id, labels: ['a'], requester: 'test', ...more }, 1);
  admit(pool, 1);
  for (const { id: node } of Object.values(pool.nodes).filter(({ state }) => state === 'building')) {
    begin(pool, node);
    nodeBuilt(pool, node, 2);
  }
}

const shown = (pool: PoolState, id: string): RequestView | undefined =>
  viewRequests(pool, { ids: [id] }).requests[0];

describe('a request that lost a node', () => {
  it('does not take it from its present holder when it ends', () => {
    const pool = open(1);
    ask(pool, 'first');
    holdNode(pool, 'a-1', { by: 'me', comment: 'it hangs' }, 3);
    endHold(pool, 'a-1', 4);
    nodeCleaned(pool, 'a-1', 5);
    ask(pool, 'second');
    expect(shown(pool, 'second')).toMatchObject({ state: 'fulfilled', nodes: [{ id: 'a-1' }] });
    expect(shown(pool, 'first')).toMatchObject({
      state: 'fulfilled',
      nodes: [{ id: 'a-1', label: 'a', lost: true, payload: {} }],
    });
    returnNodes(pool, 'first', 'returned', 6);
    expect(pool.nodes['a-1']).toMatchObject({ state: 'in-use', request: 'second' });
  });
});

describe('nodes without a user', () => {
  it('a node without a user is neither in use nor held, and shares its machine with no such node', () => {
    const pool = openPool({
      labels: { a: {}, b: {} },
      providerPools: { main: providerPool({ a: offer(), b: offer({ slots: 2 }) }) },
    });
    for (const [id, labels] of Object.entries({ one: ['a'], two: ['a'], three: ['b'] }))
      addRequest(pool, { id, labels, requester: 'test' }, 1);
    admit(pool, 1);
    for (const { id } of Object.values(pool.nodes).filter(({ backing }) => backing === undefined)) {
      begin(pool, id);
      nodeBuilt(pool, id, 2);
    }
    const free = (): readonly string[] => nodesWithoutUser(Object.values(pool.nodes)).map(({ id }) => id);
    const [, two, three] = ['one', 'two', 'three'].map((id) => pool.requests[id]?.nodes[0] ?? '');
    const machine = pool.nodes[three ?? '']?.backing ?? '';
    expect(pool.nodes[machine]?.state).toBe('ready');
    const otherSlot = Object.values(pool.nodes).filter(
      ({ id, backing }) => backing === machine && id !== three,
    );
    expect(free()).toEqual(otherSlot.map(({ id }) => id));
    returnNodes(pool, 'two', 'returned', 3);
    returnNodes(pool, 'three', 'returned', 3);
    expect(free()).toEqual(expect.arrayContaining([two, machine]));
    holdNode(pool, pool.requests['one']?.nodes[0] ?? '', { by: 'me', comment: 'hangs' }, 4);
    expect(free()).not.toContain(pool.requests['one']?.nodes[0]);
  });
});

describe('the priority of a waiting request', () => {
  it('can be changed, which moves it before earlier ones', () => {
    const pool = open(1);
    for (const id of ['first', 'second', 'third']) ask(pool, id);
    expect(refusePriority(pool, { id: 'third' })).toBeUndefined();
    changePriority(pool, 'third', 1);
    returnNodes(pool, 'first', 'returned', 3);
    nodeCleaned(pool, 'a-1', 4);
    admit(pool, 5);
    expect(shown(pool, 'third')).toMatchObject({ state: 'fulfilled', priority: 1 });
    expect(shown(pool, 'second')).toMatchObject({ state: 'requested', priority: 100 });
  });

  it('cannot be changed once it has nodes', () => {
    const pool = open(1);
    ask(pool, 'first');
    ask(pool, 'second');
    expect(refusePriority(pool, { id: 'first' })?.why).toContain('request first is fulfilled');
    expect(refusePriority(pool, { id: 'other' })?.why).toContain('no open request other');
    const { version } = pool.counters;
    changePriority(pool, 'first', 1);
    expect(pool.counters.version).toBe(version);
  });
});

describe('names that users choose', () => {
  it.each(['constructor', '__proto__', 'toString'])('may be %s: of a tenant, and of a request', (word) => {
    const pool = open(2);
    ask(pool, word, { tenant: word });
    expect(shown(pool, word)).toMatchObject({ state: 'fulfilled', tenant: word });
    expect(renewLease(pool, word, 3)).toBe(true);
    expect(
      viewPool(unpackPool(JSON.parse(JSON.stringify(packPool(pool)))), 3).providerPools['main']?.used,
    ).toEqual({ nodes: 1 });
    expect(Object.keys(Object.prototype)).toEqual([]);
    returnNodes(pool, word, 'returned', 4);
    expect(shown(pool, word)).toMatchObject({ state: 'returned' });
    expect(refuseHold(pool, { nodeId: word, comment: 'x' })).toMatchObject({ is: 'NotFound' });
  });

  it('may contain separators', () => {
    const pool = open(0);
    addRequest(pool, { id: 'one', labels: ['a'], requester: 'test', tenant: 'x|y', providerPool: 'z' }, 1);
    addRequest(pool, { id: 'two', labels: ['a'], requester: 'test', tenant: 'x', providerPool: 'y' }, 1);
    const [one, two] = Object.values(pool.requests);
    if (one === undefined || two === undefined) throw new Error('no requests');
    expect(signatureOf(one)).not.toBe(signatureOf({ ...two, declined: { z: 'no room' } }));
  });
});

describe('requests that are alike', () => {
  it('all show what they wait for', () => {
    const pool = open(1);
    for (const id of ['has', 'one', 'two']) ask(pool, id);
    const why = 'provider pool main: 1 node over its limit of 1 node';
    expect(viewRequests(pool, { since: 0 }).requests.map(({ waits }) => waits)).toEqual([
      undefined,
      why,
      `an earlier request for the same waits: ${why}`,
    ]);
  });

  it('fail with the needed and the available amount', () => {
    const pool = open(1);
    addRequest(pool, { id: 'two', labels: ['a', 'a'], requester: 'test' }, 1);
    admit(pool, 1);
    expect(shown(pool, 'two')).toMatchObject({
      state: 'failed',
      declined: { main: 'its limits are too small: 2 nodes needed, 1 allowed' },
    });
  });
});

describe('messages that a pool refuses', () => {
  const pool = open();
  ask(pool, 'has');
  const held = open();
  ask(held, 'has');
  holdNode(held, 'a-1', { by: 'me', comment: 'x' }, 3);

  it.each([
    [
      'a hold of a node that is not there',
      () => refuseHold(pool, { nodeId: 'b-1', comment: 'x' }),
      'NotFound',
      "pool ci has no node b-1; run 'heddle pool nodes ci'",
    ],
    [
      'a hold that does not say why',
      () => refuseHold(pool, { nodeId: 'a-1', comment: ' ' }),
      'Invalid',
      'the comment',
    ],
    [
      'a hold of a held node',
      () => refuseHold(held, { nodeId: 'a-1', comment: 'x' }),
      'Invalid',
      'node a-1 is hold',
    ],
    [
      'the end of a hold that there is not',
      () => refuseEndHold(pool, { nodeId: 'a-1' }),
      'Invalid',
      'node a-1 is in-use and not held',
    ],
    [
      'a deletion that names one node too many',
      () => refuseDeletion(pool, { nodeIds: ['a-1', 'constructor'] }),
      'NotFound',
      'no node constructor',
    ],
  ])('%s', (_what, refuse, is, why) => {
    expect(refuse()).toMatchObject({ is, why: expect.stringContaining(why) });
  });

  it('and accepts', () => {
    expect([
      refuseHold(pool, { nodeId: 'a-1', comment: 'it hangs' }),
      refuseEndHold(held, { nodeId: 'a-1' }),
      refuseDeletion(pool, { nodeIds: ['a-1'] }),
    ]).toEqual([undefined, undefined, undefined]);
    expect(refuseDemand(pool, { id: 'x', labels: [''], requester: 'test' })).toBe(
      'pool ci has no label ""; its labels are a',
    );
  });
});
