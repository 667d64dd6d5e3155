import { describe, expect, it } from 'vitest';
import type { Action } from '../../src/model/action.js';
import { defaultRepair } from '../../src/model/cluster/default-repair.js';
import { isKeyOfCreated, placementChecks } from '../../src/model/cluster/placement-check.js';
import type { GroupSpec } from '../../src/model/cluster/spec.js';
import type { PlannedPlacement } from '../../src/model/node/placement.js';
import type { Kind, ServedPlan } from '../../src/model/plan/plan.js';
import type { Range } from '../../src/model/plan/ranges.js';

interface Group {
  readonly count?: number;
  readonly minimum?: number;
  readonly flavor?: string;
  readonly provider?: string;
  readonly kinds: readonly (readonly [nodes: Range, ...actions: readonly Action[]])[];
}

const removed: Group = { count: 0, kinds: [[[1, 2], 'DELETE']] };

function creates(groups: Readonly<Record<string, Group>>, group = 'a', onFailure = 'hold') {
  const named = Object.entries(groups);
  const placement = ({ flavor = 'big', provider = 'rack' }: Group): PlannedPlacement => ({
    provider,
    type: 'static',
    site: 'here',
    flavor,
    image: 'debian',
    fields: {},
    digest: 'm',
  });
  const plan = {
    spec: {
      name: 'web',
      config: {},
      services: {},
      onFailure,
      repair: defaultRepair,
      nodes: Object.fromEntries(
        named.map(([name, { count = 1, minimum }]) => [name, { count, minimum, services: [] }]),
      ) as unknown as Readonly<Record<string, GroupSpec>>,
    },
    kinds: named.flatMap(([name, { kinds }]) =>
      kinds.map(([nodes, ...actions]): Kind => ({
        group: name,
        purpose: 'create',
        nodes: [nodes],
        services: [],
        chain: actions.map((action) => ({ action })),
      })),
    ),
    placements: Object.fromEntries(named.map(([name, one]) => [name, [placement(one)]])),
  } as unknown as ServedPlan;
  const checks = placementChecks({ clusterId: 'web' }, plan);
  return checks.find(({ check }) => check.path[1] === group)?.check.creates;
}

describe('the machines that a plan needs', () => {
  it.each<readonly [string, Readonly<Record<string, Group>>, number, number]>([
    ['each node of a new group', { a: { count: 3, kinds: [[[1, 3], 'CREATE']] } }, 3, 3],
    [
      'those of all groups of the account, and of those with the same hardware and image',
      {
        a: { count: 2, kinds: [[[1, 2], 'CREATE']] },
        b: { kinds: [[[1, 1], 'CREATE']] },
        c: { flavor: 'small', kinds: [[[1, 1], 'CREATE']] },
        d: { provider: 'other', kinds: [[[1, 1], 'CREATE']] },
      },
      4,
      3,
    ],
    ['down to its minimum', { a: { count: 3, minimum: 1, kinds: [[[1, 3], 'CREATE']] } }, 1, 1],
    [
      'a group that may lack more than it creates takes nothing off another one',
      {
        a: { count: 2, kinds: [[[1, 2], 'CREATE']] },
        b: { count: 5, minimum: 1, kinds: [[[5, 5], 'CREATE']] },
      },
      2,
      2,
    ],
    [
      'none for a replaced node, which releases its machine first',
      {
        a: {
          count: 2,
          kinds: [
            [[1, 1], 'DELETE', 'CREATE'],
            [[2, 2], 'CREATE'],
          ],
        },
      },
      1,
      1,
    ],
    [
      'all of them although other nodes are removed, for which no CREATE waits',
      {
        a: {
          count: 1,
          kinds: [
            [[1, 1], 'CREATE'],
            [[2, 2], 'DELETE'],
          ],
        },
        b: removed,
      },
      1,
      1,
    ],
  ])('are %s', (_title, groups, all, ofKind) => {
    expect(creates(groups)).toMatchObject({ all, ofKind });
  });

  it('are none for a group without CREATE, or where an operation continues without nodes', () => {
    expect(creates({ a: removed })).toBeUndefined();
    expect(creates({ a: { kinds: [[[1, 1], 'CREATE']] } }, 'a', 'continue')).toMatchObject({ all: 0 });
  });
});

it('a claim is that of a created node only with its cluster, group and number', () => {
  const check = {
    clusterUid: 'u1',
    creates: creates({ a: { count: 3, kinds: [[[2, 3], 'CREATE']] }, b: { kinds: [[[1, 1], 'CREATE']] } }),
  };
  const own = ['u1/a-2/1', 'u1/a-3/4', 'u1/b-1/1'];
  const foreign = ['u1/a-1/1', 'u1/a-4/1', 'u2/a-2/1', 'u1/c-1/1', 'manual'];
  expect([...own, ...foreign].filter((key) => isKeyOfCreated(check, key))).toEqual(own);
  expect(isKeyOfCreated({ ...check, clusterUid: undefined }, 'u1/a-2/1')).toBe(false);
});
