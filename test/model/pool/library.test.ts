import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { carryOutDue } from '../../../src/model/pool/due.js';
import { addRequest, returnNodes } from '../../../src/model/pool/allocate.js';
import { hasLostItsImage, placementFor, versionStatusOf } from '../../../src/model/pool/library.js';
import { launchFailed, nodeBuilt, nodeGone } from '../../../src/model/pool/outcome.js';
import type { LabelSpec, OfferSpec, ProviderPoolSpec } from '../../../src/model/pool/spec.js';
import type { PoolState } from '../../../src/model/pool/state.js';
import { viewNode, viewPool } from '../../../src/model/pool/view.js';
import { begin, offer, openPool, providerPool, tell } from './support.js';

function open(
  label: Partial<LabelSpec> = {},
  provider: Partial<ProviderPoolSpec> = {},
  more: Partial<OfferSpec> = {},
): PoolState {
  return openPool({
    labels: { a: label, b: {} },
    providerPools: {
      main: providerPool({ a: offer({ libraryImage: 'web', ...more }), b: offer() }, provider),
    },
  });
}

function ask(pool: PoolState, id: string, now: number, label = 'a'): void {
  addRequest(pool, { id, labels: [label], requester: 'test' }, now);
  admit(pool, now);
}

/** One round, in which everything that is made and deleted comes to its end. */
function round(pool: PoolState, now: number): void {
  for (const { id, state } of Object.values(pool.nodes)) {
    if (state === 'building') {
      begin(pool, id);
      nodeBuilt(pool, id, now);
    }
    if (state === 'deleting') nodeGone(pool, id, now);
  }
  carryOutDue(pool, now);
  admit(pool, now);
}

const versions = (pool: PoolState): readonly string[] =>
  Object.values(pool.nodes).map((node) => `${node.state} ${viewNode(pool, node).image ?? '-'}`);
const ready = (pool: PoolState): number =>
  Object.values(pool.nodes).filter(({ state }) => state === 'ready').length;

describe('nodes of an image of the library', () => {
  it('a node is created from the newest version of its account; until one exists, requests wait without blocking others', () => {
    const pool = open();
    ask(pool, 'one', 0);
    expect(pool.requests['one']).toMatchObject({
      state: 'requested',
      waits: 'provider pool main: image web does not exist',
    });
    tell(pool, { elsewhere: 3 });
    ask(pool, 'other', 1, 'b');
    expect(pool.requests['one']?.waits).toBe('provider pool main: image web has no ready version at cloud');
    expect(pool.requests['other']?.state).toBe('pending');
    expect(viewPool(pool, 1).labels['a']?.servedBy).toMatchObject([
      { image: { name: 'web', lacks: 'image web has no ready version at cloud' } },
    ]);
    tell(pool, { cloud: 2, elsewhere: 3 });
    admit(pool, 2);
    expect(pool.requests['one']?.state).toBe('pending');
    expect(placementFor(pool, 'main', 'a')).toMatchObject({
      image: 'web@2',
      built: { name: 'web', revision: '2' },
    });
    expect(viewPool(pool, 2).labels['a']?.servedBy).toMatchObject([
      { image: { name: 'web', version: 'web@2' } },
    ]);
  });

  it('one machine of several nodes is replaced if there is no room for another; the next one waits', () => {
    const pool = open({ minReady: 2 }, { limits: { nodes: 2 } }, { slots: 2 });
    tell(pool, { cloud: 1 });
    ask(pool, 'one', 0);
    ask(pool, 'two', 0);
    ask(pool, 'three', 0);
    for (let now = 0; now < 3; now += 1) round(pool, now);
    for (const id of ['one', 'two', 'three']) returnNodes(pool, id, 'returned', 3);
    for (const { id, state } of Object.values(pool.nodes)) if (state === 'deleting') nodeGone(pool, id, 3);
    expect(versions(pool)).toEqual(['ready web@1', 'ready web@1']);
    tell(pool, { cloud: 2 });
    admit(pool, 4);
    expect(versions(pool).toSorted()).toEqual(['deleting web@1', 'ready web@1']);
    for (let now = 5; now < 15; now += 1) {
      round(pool, now);
      expect(ready(pool)).toBeGreaterThanOrEqual(1);
    }
    expect(versions(pool).filter((one) => one.startsWith('ready'))).toContain('ready web@2');
    expect(versions(pool)).not.toContain('ready web@1');
  });

  it('give way to newer ones one after the other, while enough stay ready', () => {
    const pool = open({ minReady: 3 });
    tell(pool, { cloud: 1 });
    for (let now = 0; now < 3; now += 1) round(pool, now);
    expect(versions(pool)).toEqual(['ready web@1', 'ready web@1', 'ready web@1']);
    tell(pool, { cloud: 2 });
    for (let now = 10; now < 30; now += 1) {
      round(pool, now);
      expect(ready(pool)).toBeGreaterThanOrEqual(3);
      expect(Object.keys(pool.nodes).length).toBeLessThanOrEqual(5);
    }
    expect(versions(pool)).toEqual(['ready web@2', 'ready web@2', 'ready web@2']);
  });

  it('nodes of older versions are deleted first, one at a time, if the limits leave no room', () => {
    const pool = open({ minReady: 3 }, { limits: { nodes: 3 } });
    tell(pool, { cloud: 1 });
    for (let now = 0; now < 3; now += 1) round(pool, now);
    tell(pool, { cloud: 2 });
    for (let now = 10; now < 30; now += 1) {
      round(pool, now);
      expect(ready(pool)).toBeGreaterThanOrEqual(2);
    }
    expect(versions(pool)).toEqual(['ready web@2', 'ready web@2', 'ready web@2']);
  });

  it('nodes of older versions are allocated last; those in use stay and are not reused', () => {
    const pool = open({ minReady: 2, onReturn: 'reuse' });
    tell(pool, { cloud: 1 });
    for (let now = 0; now < 3; now += 1) round(pool, now);
    ask(pool, 'holds', 5);
    const held = pool.requests['holds']?.nodes[0] ?? '';
    tell(pool, { cloud: 2 });
    admit(pool, 6);
    ask(pool, 'old', 7);
    expect(viewNode(pool, pool.nodes[pool.requests['old']?.nodes[0] ?? ''] ?? never())).toMatchObject({
      image: 'web@1',
      replaced: 'superseded',
    });
    for (let now = 10; now < 20; now += 1) round(pool, now);
    expect(pool.nodes[held]?.state).toBe('in-use');
    ask(pool, 'new', 21);
    expect(viewNode(pool, pool.nodes[pool.requests['new']?.nodes[0] ?? ''] ?? never()).image).toBe('web@2');
    returnNodes(pool, 'holds', 'returned', 22);
    expect(pool.nodes[held]?.state).toBe('deleting');
  });

  it('of a withdrawn version are deleted at once and no longer allocated', () => {
    const pool = open({ minReady: 2 });
    tell(pool, { cloud: 2 });
    for (let now = 0; now < 3; now += 1) round(pool, now);
    tell(pool, { cloud: 1 });
    ask(pool, 'one', 5);
    expect(pool.nodes[pool.requests['one']?.nodes[0] ?? '']?.state).toBe('building');
    carryOutDue(pool, 6);
    expect(
      Object.values(pool.nodes)
        .filter(({ state }) => state === 'deleting')
        .map(({ why }) => why),
    ).toEqual(['its image was rolled back', 'its image was rolled back']);
  });

  it('stay and serve if there is no other version', () => {
    const pool = open({ minReady: 1 });
    tell(pool, { cloud: 2 });
    for (let now = 0; now < 3; now += 1) round(pool, now);
    tell(pool, {});
    round(pool, 5);
    expect(versions(pool)).toEqual(['ready web@2']);
    ask(pool, 'one', 6);
    expect(pool.requests['one']?.state).toBe('fulfilled');
  });

  it('that fail while their image is replaced do not count as an attempt', () => {
    const pool = open();
    tell(pool, { cloud: 2 });
    ask(pool, 'one', 0);
    const node = pool.requests['one']?.nodes[0] ?? '';
    begin(pool, node);
    tell(pool, { cloud: 1 });
    expect(hasLostItsImage(pool, pool.nodes[node] ?? never())).toBe(true);
    launchFailed(pool, node, { kind: 'Invalid', message: 'there is no image web@2' }, 1);
    expect(pool.requests['one']).toMatchObject({ state: 'requested', declined: {}, failures: 0 });
    admit(pool, 2);
    expect(pool.requests['one']?.state).toBe('pending');
  });

  it('share machines, of which older ones get no more nodes once there is a newer one', () => {
    const pool = open({ minReady: 2 }, {}, { slots: 2 });
    tell(pool, { cloud: 1 });
    for (let now = 0; now < 3; now += 1) round(pool, now);
    ask(pool, 'one', 4);
    const first = pool.nodes[pool.requests['one']?.nodes[0] ?? '']?.backing ?? '';
    tell(pool, { cloud: 2 });
    for (let now = 10; now < 20; now += 1) round(pool, now);
    expect(versionStatusOf(pool, pool.nodes[first] ?? never())).toBe('superseded');
    ask(pool, 'two', 21);
    expect(viewNode(pool, pool.nodes[pool.requests['two']?.nodes[0] ?? ''] ?? never()).image).toBe('web@2');
    returnNodes(pool, 'one', 'returned', 22);
    for (let now = 30; now < 40; now += 1) round(pool, now);
    expect(pool.nodes[first]).toBeUndefined();
  });

  it('ignore images that they are not created from, and older notifications', () => {
    const pool = open();
    tell(pool, { cloud: 1 });
    const { library } = pool;
    tell(pool, { cloud: 2 });
    pool.library = {
      ...library,
      web: { image: 'web', uid: 'web-uid', version: 9, offers: { cloud: { build: 5, image: 'web@5' } } },
    };
    expect(placementFor(pool, 'main', 'a')?.image).toBe('web@5');
    expect(placementFor(pool, 'main', 'b')?.image).toBe('host');
  });
});

function never(): never {
  throw new Error('there is no such node');
}
