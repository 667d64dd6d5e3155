import { describe, expect, it } from 'vitest';
import { bounds, excessOf, type Bounds } from '../../src/model/bounds.js';
import { cutText, firstWithin, jsonBytes, mostSent } from '../../src/model/carried.js';
import { contracts } from '../../src/model/messages/table.js';
import { packCluster, unpackCluster } from '../../src/model/cluster/carry.js';
import { withoutHealth } from '../../src/model/cluster/work.js';
import { refuseRequests } from '../../src/model/pool/room.js';
import { unpackPool, type CarriedPool } from '../../src/model/pool/carry.js';
import { fullClusterState } from '../harness/workflows/filled-clusters.js';
import { filled } from '../harness/workflows/filled.js';

const carried = Object.fromEntries(Object.entries(filled).map(([type, one]) => [type, one.carried()]));
const types = Object.keys(bounds) as (keyof typeof bounds)[];

describe('the bounds of a carried state', () => {
  it.each(types)('fit into one message together: %s', (type) => {
    const parts: Bounds = bounds[type];
    const sum = Object.values(parts).reduce((all, { most }) => all + most, 0);
    expect(sum).toBeLessThanOrEqual(mostSent);
  });

  it('exist for every workflow that carries a state', () => {
    const ended = ['plan', 'nodeMachine', 'artifactPart', 'delivery', 'sweep', 'periodicChecks'];
    expect(types.toSorted()).toEqual(
      Object.keys(contracts)
        .filter((type) => !ended.includes(type))
        .toSorted(),
    );
  });

  it.each(types)('hold for a state that is filled to its limits: %s', (type) => {
    expect(excessOf(bounds[type], carried[type])).toEqual({});
  });

  it.each(['cluster', 'group', 'pool', 'image', 'reservations', 'artifacts', 'claims'] as const)(
    'are nearly reached by a state that is filled to its limits: %s',
    (type) => {
      expect(jsonBytes(carried[type])).toBeGreaterThan(1_000_000);
    },
  );
});

describe('a cluster that does not fit', () => {
  it('leaves out the health of services, then what groups report again, then the plan of its operation', () => {
    const state = fullClusterState();
    const step = { action: 'INSTALL', digest: 'x'.repeat(400_000) } as const;
    const large = {
      ...state,
      work: {
        operation: '21',
        kinds: [{ group: 'app', purpose: 'update', nodes: [[0, 0]], chain: [step], services: [] }],
        placements: {},
        positions: { 'app-0': 1 },
        doneBefore: 0,
      },
      coordination: { needed: { x: 1 }, passed: {}, width: 1, batchSlots: {}, asked: [] },
    } as const satisfies typeof state;
    expect(unpackCluster(packCluster(large, Infinity))).toEqual(large);
    const nodes = withoutHealth(large.nodes);
    const healthless = packCluster(large, jsonBytes(packCluster(large, Infinity)) - 1);
    expect(unpackCluster(healthless)).toEqual({ ...large, nodes });
    const fewer = unpackCluster(packCluster(large, jsonBytes(healthless) - 1));
    expect(fewer.work).toEqual(large.work);
    expect(
      Object.values(fewer.groups).every(({ unread, rows }) => unread === true && rows.length === 0),
    ).toBe(true);
    const least = packCluster(large);
    expect(jsonBytes(least)).toBeLessThan(mostSent);
    expect(least.work).toBeUndefined();
    expect(least.unplanned).toBe(true);
    expect(least.coordination).toBeUndefined();
    expect(least.operation).toEqual(large.operation);
  });
});

it('a pool refuses requests beyond its bound with size, limit and remedy', () => {
  const pool = unpackPool(carried['pool'] as CarriedPool);
  expect(refuseRequests(pool, [{ id: 'x', labels: ['label-0'], requester: 'me' }])).toMatch(
    /^pool full would have \d+ bytes of nodes and requests as JSON; the limit is \d+; return nodes first/,
  );
});

it('a text is cut by what it has as JSON', () => {
  expect(cutText('short', 10)).toBe('short');
  for (const text of ['x'.repeat(500), '\u0001'.repeat(500), 'ä'.repeat(500), '😀'.repeat(500)]) {
    const cut = cutText(text, 100);
    expect(jsonBytes(cut)).toBeLessThanOrEqual(100);
    expect(jsonBytes(cut)).toBeGreaterThan(85);
    expect(cut.endsWith('...')).toBe(true);
  }
});

it('of a list at least the first entry is kept', () => {
  expect(firstWithin(['a'.repeat(50), 'b'], 10)).toHaveLength(1);
  expect(firstWithin(['a', 'b', 'c'], 9)).toEqual(['a', 'b']);
});
