import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { excess, plus, type Amounts } from '../../../src/model/pool/amounts.js';
import { carryOutDue } from '../../../src/model/pool/due.js';
import { addRequest, deleteNode, giveBack, holdNode, renewLease } from '../../../src/model/pool/hand-out.js';
import { nodeTransitions, type PoolNodeState } from '../../../src/model/pool/node.js';
import { endHold, launchFailed, nodeBuilt, nodeCleaned, nodeGone, nodeUnwell, nodeWell } from '../../../src/model/pool/outcome.js';
import type { PoolState } from '../../../src/model/pool/state.js';
import { begin, offer, openPool, providerPool, reconfigure, type Wanted } from './support.js';

const labels = ['a', 'b', 'c'];

const anyWanted: fc.Arbitrary<Wanted> = fc.record({
  labels: fc.record(Object.fromEntries(labels.map((label) => [label, fc.record({
    minReady: fc.integer({ min: 0, max: 2 }), onReturn: fc.constantFrom('delete' as const, 'reuse' as const), spareAgeMs: fc.constantFrom(1_000, 60_000),
    cleanUp: fc.option(fc.constant({ script: 'rm' }), { nil: undefined }),
  }).map(({ cleanUp, ...label }) => ({ ...label, ...(cleanUp === undefined ? {} : { cleanUp }) }))]))),
  providerPools: fc.record({
    one: anyProviderPool('cloud'), two: anyProviderPool('cloud'), three: anyProviderPool('other'),
  }),
  tenants: fc.record({ acme: fc.record({ nodes: fc.integer({ min: 1, max: 4 }) }) }),
});

function anyProviderPool(provider: string): fc.Arbitrary<Wanted['providerPools'][string]> {
  return fc.record({
    priority: fc.integer({ min: 1, max: 2 }), limits: fc.record({ nodes: fc.integer({ min: 0, max: 5 }), cores: fc.integer({ min: 2, max: 8 }) }),
    served: fc.subarray(labels, { minLength: 1 }), cores: fc.integer({ min: 1, max: 2 }), slots: fc.constantFrom(undefined, undefined, 2, 3), keepUnwell: fc.boolean(),
  }).map(({ priority, limits, served, cores, slots, keepUnwell }) => providerPool(
    Object.fromEntries(served.map((label) => [label, offer({ uses: { nodes: 1, cores }, ...(slots === undefined || label !== 'c' ? {} : { slots }) })])),
    { provider, priority, limits, ...(keepUnwell ? { keepUnwell } : {}) },
  ));
}

/** What may happen; the number picks whom it happens to. */
const anyEvent = fc.record({
  what: fc.constantFrom('ask', 'ask', 'ask', 'ask', 'build', 'build', 'build', 'fail', 'quota', 'capacity', 'gone', 'gone', 'return', 'return', 'cancel', 'hold', 'unhold',
    'delete', 'renew', 'unwell', 'well', 'clean', 'time', 'reconfigure'),
  pick: fc.nat(), labels: fc.array(fc.constantFrom(...labels), { minLength: 1, maxLength: 3 }), priority: fc.constantFrom(100, 100, 50),
  tenant: fc.option(fc.constant('acme'), { nil: undefined }), image: fc.constantFrom('host', 'newer'),
});
type Event = typeof anyEvent extends fc.Arbitrary<infer Value> ? Value : never;

class World {
  now = 1_000;
  readonly pool: PoolState;
  readonly wanted: Wanted;
  asked = 0;

  constructor(wanted: Wanted) {
    this.wanted = wanted;
    this.pool = openPool(wanted);
    this.settle(new Map());
  }

  happen(event: Event): void {
    const before = new Map(Object.values(this.pool.nodes).map(({ id, state }) => [id, state]));
    this.now += 10;
    this.#act(event);
    this.settle(before);
  }

  settle(before: ReadonlyMap<string, PoolNodeState>): void {
    const { pool, now } = this;
    carryOutDue(pool, now);
    admit(pool, now);
    for (const { id, state } of Object.values(pool.nodes)) if (state === 'building') begin(pool, id, pool.placements[pool.nodes[id]?.providerPool ?? '']?.[pool.nodes[id]?.label ?? '']?.digest);
    this.check(before);
  }

  check(before: ReadonlyMap<string, PoolNodeState>): void {
    const { pool } = this;
    const accounts: Record<string, Amounts> = {};
    for (const [name, { limits, provider }] of Object.entries(pool.spec?.providerPools ?? {})) {
      const used = Object.values(pool.nodes).filter((node) => node.providerPool === name).reduce<Amounts>((sum, { uses }) => plus(sum, uses), {});
      expect(excess(used, limits)).toEqual({});
      accounts[provider] = plus(accounts[provider] ?? {}, used);
    }
    for (const [account, { limits }] of Object.entries(pool.quotas)) expect(excess(accounts[account] ?? {}, limits)).toEqual({});
    for (const [tenant, limit] of Object.entries(pool.spec?.tenants ?? {})) {
      const used = Object.values(pool.nodes).filter((node) => node.tenant === tenant).reduce<Amounts>((sum, { uses, backing }) => plus(sum, backing === undefined ? uses : { nodes: 1 }), {});
      expect(excess(used, limit)).toEqual({});
    }
    const given = Object.values(pool.requests).flatMap(({ nodes }) => nodes);
    // Held ones and those that a person deleted are not with their request any more.
    expect(new Set(given).size).toBe(given.length);
    for (const request of Object.values(pool.requests)) {
      for (const id of request.nodes) {
        const node = pool.nodes[id];
        if (node === undefined || node.request === undefined) continue;
        expect(node.request).toBe(request.id);
        expect(node.providerPool).toBe(request.providerPool);
      }
      if (request.state !== 'pending') continue;
      expect(request.nodes.map((id) => pool.nodes[id]?.label)).toEqual(request.labels);
      // Else nobody would ever hand it out.
      expect(request.nodes.some((id) => pool.nodes[id]?.state === 'building')).toBe(true);
    }
    for (const node of Object.values(pool.nodes)) {
      if (node.backing !== undefined) expect(pool.nodes[node.backing]?.slots).toBeGreaterThan(0);
      const was = before.get(node.id);
      if (was !== undefined && was !== node.state) expect(reachable(was)).toContain(node.state);
    }
    for (const backing of Object.values(pool.nodes).filter(({ slots }) => slots !== undefined)) {
      expect(Object.values(pool.nodes).filter((node) => node.backing === backing.id).length).toBeLessThanOrEqual(backing.slots ?? 0);
      expect(backing.request).toBeUndefined();
    }
  }

  #act({ what, pick, labels: wanted, priority, tenant, image }: Event): void {
    const { pool, now } = this;
    const one = (state: PoolNodeState, more: (id: string) => boolean = () => true): string => {
      const ids = Object.values(pool.nodes).filter((node) => node.state === state && node.backing === undefined && more(node.id)).map(({ id }) => id);
      return ids[pick % Math.max(1, ids.length)] ?? '';
    };
    const requests = Object.values(pool.requests);
    const request = requests[pick % Math.max(1, requests.length)]?.id ?? '';
    const nodes = Object.keys(pool.nodes);
    const node = nodes[pick % Math.max(1, nodes.length)] ?? '';
    switch (what) {
      case 'ask': return addRequest(pool, { id: `r${this.asked += 1}`, labels: wanted, requester: 'test', priority, ...(tenant === undefined ? {} : { tenant }) }, now);
      case 'build': return nodeBuilt(pool, one('building'), now);
      case 'fail': return launchFailed(pool, one('building'), { kind: 'Timeout', message: 'silent' }, now);
      case 'quota': return launchFailed(pool, one('building'), { kind: 'Quota', message: 'no quota' }, now);
      case 'capacity': return launchFailed(pool, one('building'), { kind: 'Capacity', message: 'no room' }, now);
      case 'gone': return nodeGone(pool, one('deleting'), now);
      case 'return': return giveBack(pool, requests.find(({ state }) => state === 'fulfilled')?.id ?? '', 'returned', now);
      case 'cancel': return giveBack(pool, request, 'cancelled', now);
      case 'hold': holdNode(pool, node, { by: 'me', comment: 'look' }, now); return;
      case 'unhold': endHold(pool, node, now); return;
      case 'delete': deleteNode(pool, node, 'asked', now); return;
      case 'renew': renewLease(pool, request, now); return;
      case 'unwell': return nodeUnwell(pool, one('ready'), 'silent', now);
      case 'well': return nodeWell(pool, one('failed'), now);
      case 'clean': return nodeCleaned(pool, one('used'), now);
      case 'time': this.now += 30_000; return;
      default: reconfigure(pool, this.wanted, image);
    }
  }

  /** Everything goes well from now on, and everybody gives back what he got; what nobody asks for is not there any more. */
  calmDown(): void {
    for (let round = 0; round < 2_000; round += 1) {
      const { pool } = this;
      const open = Object.values(pool.requests).filter(({ state }) => state === 'requested' || state === 'pending');
      if (open.length === 0) return;
      this.now += 1_000;
      for (const { id, state } of Object.values(pool.nodes)) {
        if (state === 'building' && pool.nodes[id]?.backing === undefined) nodeBuilt(pool, id, this.now);
        if (state === 'deleting') nodeGone(pool, id, this.now);
        if (state === 'used') nodeCleaned(pool, id, this.now);
        if (state === 'hold') endHold(pool, id, this.now);
        if (state === 'failed') nodeWell(pool, id, this.now);
      }
      const [fulfilled] = Object.values(pool.requests).filter(({ state }) => state === 'fulfilled');
      if (fulfilled !== undefined) giveBack(pool, fulfilled.id, 'returned', this.now);
      this.settle(new Map());
    }
    const stuck = Object.values(this.pool.requests).filter(({ state }) => state === 'requested' || state === 'pending');
    expect({ stuck, nodes: Object.values(this.pool.nodes).map(({ id, state, request, providerPool: from, slots, backing }) => ({ id, state, request, from, slots, backing })) }).toEqual({ stuck: [] });
  }
}

/** By any number of steps of the table. */
function reachable(from: PoolNodeState): ReadonlySet<PoolNodeState> {
  const found = new Set<PoolNodeState>([from]);
  for (const state of found) for (const next of nodeTransitions[state]) found.add(next);
  return found;
}

describe('any pool', () => {
  it('is never over a limit, gives no node twice, and keeps to the table of states, whatever happens', () => {
    fc.assert(fc.property(anyWanted, fc.array(anyEvent, { maxLength: 60 }), (wanted, events) => {
      const world = new World(wanted);
      for (const event of events) world.happen(event);
    }), { numRuns: 150 });
  });

  it('serves or refuses every request in the end', () => {
    fc.assert(fc.property(anyWanted, fc.array(anyEvent, { maxLength: 40 }), (wanted, events) => {
      const world = new World(wanted);
      for (const event of events) world.happen(event);
      world.calmDown();
    }), { numRuns: 150 });
  });

  it('serves a large request though small ones keep coming', () => {
    fc.assert(fc.property(anyWanted, fc.array(fc.constantFrom(...labels), { minLength: 2, maxLength: 3 }), fc.array(anyEvent, { maxLength: 20 }), (wanted, large, events) => {
      const world = new World(wanted);
      for (const event of events) world.happen({ ...event, priority: 100 });
      addRequest(world.pool, { id: 'large', labels: large, requester: 'test' }, world.now);
      world.settle(new Map());
      for (let round = 0; round < 400; round += 1) {
        const state = world.pool.requests['large']?.state;
        if (state === 'fulfilled' || state === 'failed' || state === undefined) return;
        // More of them than anybody gives back, and none of them is ever refused for good.
        for (const label of labels) addRequest(world.pool, { id: `small-${round}-${label}`, labels: [label], requester: 'test' }, world.now);
        world.now += 1_000;
        const { pool } = world;
        for (const { id, state: at, backing } of Object.values(pool.nodes)) {
          if (at === 'building' && backing === undefined) nodeBuilt(pool, id, world.now);
          if (at === 'deleting') nodeGone(pool, id, world.now);
          if (at === 'used') nodeCleaned(pool, id, world.now);
          if (at === 'hold') endHold(pool, id, world.now);
          if (at === 'failed') nodeWell(pool, id, world.now);
        }
        const oldest = Object.values(pool.requests).filter(({ state: at }) => at === 'fulfilled').toSorted((left, right) => left.since - right.since)[0];
        if (oldest !== undefined) giveBack(pool, oldest.id, 'returned', world.now);
        world.settle(new Map());
      }
      expect(world.pool.requests['large']).toBe('served');
    }), { numRuns: 80 });
  });
});
