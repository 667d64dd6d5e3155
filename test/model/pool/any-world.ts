import { expect } from 'vitest';
import { admit } from '../../../src/model/pool/admit.js';
import { excess, plus, type Amounts } from '../../../src/model/pool/amounts.js';
import { isOutdated } from '../../../src/model/pool/capacity-ledger.js';
import { carryOutDue } from '../../../src/model/pool/due.js';
import {
  addRequest,
  deleteNode,
  returnNodes,
  holdNode,
  renewLease,
} from '../../../src/model/pool/allocate.js';
import { versionStatusOf } from '../../../src/model/pool/library.js';
import { nodeTransitions, type PoolNodeState } from '../../../src/model/pool/node.js';
import {
  endHold,
  launchFailed,
  nodeBuilt,
  nodeCleaned,
  nodeGone,
  nodeUnhealthy,
  nodeHealthy,
} from '../../../src/model/pool/outcome.js';
import { dueProbes, nodeSilent, nodeUnfit, nodeUnknown } from '../../../src/model/pool/probe-first.js';
import type { PoolState } from '../../../src/model/pool/state.js';
import { begin, offer, openPool, providerPool, reconfigure, tell, type Wanted } from './support.js';
import { fc } from '../../harness/property.js';

export const labels = ['a', 'b', 'c'];

export const anyWanted: fc.Arbitrary<Wanted> = fc.record({
  labels: fc.record(
    Object.fromEntries(
      labels.map((label) => [
        label,
        fc
          .record({
            minReady: fc.integer({ min: 0, max: 2 }),
            onReturn: fc.constantFrom('delete' as const, 'reuse' as const),
            spareAge: fc.constantFrom(1, 60),
            cleanUp: fc.option(fc.constant({ script: 'rm' }), { nil: undefined }),
            failOver: fc.constantFrom('request' as const, 'node' as const),
          })
          .map(({ cleanUp, ...label }) => ({ ...label, ...(cleanUp === undefined ? {} : { cleanUp }) })),
      ]),
    ),
  ),
  providerPools: fc.record({
    one: anyProviderPool('cloud'),
    two: anyProviderPool('cloud'),
    three: anyProviderPool('other'),
  }),
  tenants: fc.record({ acme: fc.record({ nodes: fc.integer({ min: 1, max: 4 }) }) }),
});

function anyProviderPool(provider: string): fc.Arbitrary<Wanted['providerPools'][string]> {
  return fc
    .record({
      priority: fc.integer({ min: 1, max: 2 }),
      limits: fc.record({ nodes: fc.integer({ min: 0, max: 5 }), cores: fc.integer({ min: 2, max: 8 }) }),
      served: fc.subarray(labels, { minLength: 1 }),
      cores: fc.integer({ min: 1, max: 2 }),
      slots: fc.constantFrom(undefined, undefined, 2, 3),
      keepUnwell: fc.boolean(),
      built: fc.subarray(labels),
    })
    .map(({ priority, limits, served, cores, slots, keepUnwell, built }) =>
      providerPool(
        Object.fromEntries(
          served.map((label) => [
            label,
            offer({
              uses: { nodes: 1, cores },
              ...(slots === undefined || label !== 'c' ? {} : { slots }),
              ...(built.includes(label) ? { libraryImage: 'web' } : {}),
            }),
          ]),
        ),
        { provider, priority, limits, ...(keepUnwell ? { keepUnwell } : {}) },
      ),
    );
}

/** What may happen; the number picks whom it happens to. */
export const anyEvent = fc.record({
  what: fc.constantFrom(
    'ask',
    'ask',
    'ask',
    'ask',
    'build',
    'build',
    'build',
    'fail',
    'quota',
    'capacity',
    'gone',
    'gone',
    'return',
    'return',
    'cancel',
    'hold',
    'unhold',
    'delete',
    'renew',
    'unwell',
    'well',
    'silent',
    'unfit',
    'unknown',
    'clean',
    'time',
    'reconfigure',
    'news',
    'news',
  ),
  pick: fc.nat(),
  labels: fc.array(fc.constantFrom(...labels), { minLength: 1, maxLength: 3 }),
  priority: fc.constantFrom(100, 100, 50),
  tenant: fc.option(fc.constantFrom('acme', 'beta'), { nil: undefined }),
  image: fc.constantFrom('host', 'newer'),
  offers: fc.record(
    { cloud: fc.integer({ min: 1, max: 4 }), other: fc.integer({ min: 1, max: 4 }) },
    { requiredKeys: [] },
  ),
});
type Event = typeof anyEvent extends fc.Arbitrary<infer Value> ? Value : never;

/** A pool to which anything happens, with what must hold of it at any time. */
export class World {
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
    for (const { id, state } of Object.values(pool.nodes))
      if (state === 'building')
        begin(
          pool,
          id,
          pool.placements[pool.nodes[id]?.providerPool ?? '']?.[pool.nodes[id]?.label ?? '']?.digest,
        );
    this.check(before);
  }

  check(before: ReadonlyMap<string, PoolNodeState>): void {
    const { pool } = this;
    const accounts: Record<string, Amounts> = {};
    for (const [name, { limits, provider }] of Object.entries(pool.spec?.providerPools ?? {})) {
      const used = Object.values(pool.nodes)
        .filter((node) => node.providerPool === name)
        .reduce<Amounts>((sum, { uses }) => plus(sum, uses), {});
      expect(excess(used, limits)).toEqual({});
      accounts[provider] = plus(accounts[provider] ?? {}, used);
    }
    for (const [account, { limits }] of Object.entries(pool.quotas))
      expect(excess(accounts[account] ?? {}, limits)).toEqual({});
    for (const [tenant, limit] of Object.entries(pool.spec?.tenants ?? {})) {
      const used = Object.values(pool.nodes)
        .filter((node) => node.tenant === tenant)
        .reduce<Amounts>(
          (sum, { uses, backing }) => plus(sum, backing === undefined ? uses : { nodes: 1 }),
          {},
        );
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
        if (pool.spec?.labels[node.label]?.failOver !== 'node')
          expect(node.providerPool).toBe(request.providerPool);
      }
      if (request.state !== 'pending') continue;
      expect(request.nodes.map((id) => pool.nodes[id]?.label)).toEqual(request.labels);
      // Else nobody would ever hand it out.
      expect(
        request.nodes.some((id) => pool.nodes[id]?.state === 'building') ||
          dueProbes(pool, () => false, this.now).first.some(
            (node) =>
              request.nodes.includes(node.id) ||
              request.nodes.some((id) => pool.nodes[id]?.backing === node.id),
          ),
      ).toBe(true);
    }
    for (const node of Object.values(pool.nodes)) {
      if (node.backing !== undefined) expect(pool.nodes[node.backing]?.slots).toBeGreaterThan(0);
      const was = before.get(node.id);
      if (was !== undefined && was !== node.state) expect(reachable(was)).toContain(node.state);
    }
    for (const backing of Object.values(pool.nodes).filter(({ slots }) => slots !== undefined)) {
      expect(
        Object.values(pool.nodes).filter((node) => node.backing === backing.id).length,
      ).toBeLessThanOrEqual(backing.slots ?? 0);
      expect(backing.request).toBeUndefined();
    }
  }

  #act({ what, pick, labels: wanted, priority, tenant, image, offers }: Event): void {
    const { pool, now } = this;
    const one = (state: PoolNodeState, more: (id: string) => boolean = () => true): string => {
      const ids = Object.values(pool.nodes)
        .filter((node) => node.state === state && node.backing === undefined && more(node.id))
        .map(({ id }) => id);
      return ids[pick % Math.max(1, ids.length)] ?? '';
    };
    const requests = Object.values(pool.requests);
    const request = requests[pick % Math.max(1, requests.length)]?.id ?? '';
    const nodes = Object.keys(pool.nodes);
    const node = nodes[pick % Math.max(1, nodes.length)] ?? '';
    switch (what) {
      case 'ask':
        return addRequest(
          pool,
          { id: `r${(this.asked += 1)}`, labels: wanted, requester: 'test', priority, tenant },
          now,
        );
      case 'build':
        return nodeBuilt(pool, one('building'), now);
      case 'fail':
        return launchFailed(pool, one('building'), { kind: 'Timeout', message: 'silent' }, now);
      case 'quota':
        return launchFailed(pool, one('building'), { kind: 'Quota', message: 'no quota' }, now);
      case 'capacity':
        return launchFailed(pool, one('building'), { kind: 'Capacity', message: 'no room' }, now);
      case 'gone':
        return nodeGone(pool, one('deleting'), now);
      case 'return':
        return returnNodes(
          pool,
          requests.find(({ state }) => state === 'fulfilled')?.id ?? '',
          'returned',
          now,
        );
      case 'cancel':
        return returnNodes(pool, request, 'cancelled', now);
      case 'hold':
        holdNode(pool, node, { by: 'me', comment: 'look' }, now);
        return;
      case 'unhold':
        endHold(pool, node, now);
        return;
      case 'delete':
        deleteNode(pool, node, 'asked', now);
        return;
      case 'renew':
        renewLease(pool, request, now);
        return;
      case 'unwell':
        return nodeUnhealthy(pool, one('ready'), 'silent', now);
      case 'well':
        return nodeHealthy(pool, one('failed'), now);
      case 'silent':
        return nodeSilent(pool, one('ready'), 'silent', now);
      case 'unfit':
        return nodeUnfit(
          pool,
          one('failed', (id) => pool.nodes[id]?.silent === true),
          'silent',
          now,
        );
      case 'unknown':
        return nodeUnknown(pool, one(pick % 2 === 0 ? 'ready' : 'failed'), now);
      case 'clean':
        return nodeCleaned(pool, one('used'), now);
      case 'news':
        return tell(pool, offers);
      case 'time':
        this.now += 30_000;
        return;
      default:
        reconfigure(pool, this.wanted, image);
    }
  }

  /**
   * Everything goes well from now on, and everybody gives back what he got; what nobody asks for is not there
   * any more.
   */
  calmDown(): void {
    tell(this.pool, { cloud: 5, other: 5 });
    for (let round = 0; round < 2_000; round += 1) {
      const { pool } = this;
      const open = Object.values(pool.requests).filter(
        ({ state }) => state === 'requested' || state === 'pending',
      );
      if (open.length === 0) return;
      this.now += 1_000;
      this.#workAway();
      const [fulfilled] = Object.values(pool.requests).filter(({ state }) => state === 'fulfilled');
      if (fulfilled !== undefined) returnNodes(pool, fulfilled.id, 'returned', this.now);
      this.settle(new Map());
    }
    this.#checkServed();
  }

  /**
   * Every ready node that nobody has is of the newest image in the end, and enough are ready where there is
   * room.
   */
  replaceAll(): void {
    // Longer than any account is left alone.
    for (let round = 0; round < 150; round += 1) {
      const { pool } = this;
      this.now += 1_000;
      this.#workAway();
      for (const { id } of Object.values(pool.requests)) returnNodes(pool, id, 'returned', this.now);
      const ready = new Map(Object.keys(pool.spec?.labels ?? {}).map((label) => [label, this.#ready(label)]));
      this.settle(new Map());
      for (const [label, before] of ready) {
        const least = Math.min(before, pool.spec?.labels[label]?.minReady ?? 0);
        expect(this.#ready(label), label).toBeGreaterThanOrEqual(least - 1);
      }
    }
    for (const node of Object.values(this.pool.nodes))
      if (node.state === 'ready') expect(versionStatusOf(this.pool, node)).toBe('current');
  }

  #workAway(): void {
    const { pool } = this;
    for (const { id, state } of Object.values(pool.nodes)) {
      if (state === 'building' && pool.nodes[id]?.backing === undefined) nodeBuilt(pool, id, this.now);
      if (state === 'deleting') nodeGone(pool, id, this.now);
      if (state === 'used') nodeCleaned(pool, id, this.now);
      if (state === 'hold') endHold(pool, id, this.now);
      if (state === 'failed') nodeHealthy(pool, id, this.now);
    }
    for (const { id } of dueProbes(pool, () => false, this.now).first) nodeHealthy(pool, id, this.now);
  }

  #ready(label: string): number {
    return Object.values(this.pool.nodes).filter(
      (node) =>
        node.label === label &&
        node.state === 'ready' &&
        node.backing === undefined &&
        !isOutdated(this.pool, node),
    ).length;
  }

  #checkServed(): void {
    const stuck = Object.values(this.pool.requests).filter(
      ({ state }) => state === 'requested' || state === 'pending',
    );
    expect({
      stuck,
      nodes: Object.values(this.pool.nodes).map(
        ({ id, state, request, providerPool: from, slots, backing }) => ({
          id,
          state,
          request,
          from,
          slots,
          backing,
        }),
      ),
    }).toEqual({ stuck: [] });
  }
}

/** By any number of steps of the table. */
function reachable(from: PoolNodeState): ReadonlySet<PoolNodeState> {
  const found = new Set<PoolNodeState>([from]);
  for (const state of found) for (const next of nodeTransitions[state]) found.add(next);
  return found;
}
