import { describe, expect, it } from 'vitest';
import { ownershipOf, wasAbandoned, withoutKeysOf } from '../../src/model/node/ownership.js';
import { recordMachine } from '../../src/model/node/record.js';
import type { NodeState } from '../../src/model/node/state.js';
import { statusOfLeak } from '../../src/model/sweep/sweep-text.js';
import {
  decideSweep,
  leakId,
  rememberedLeaks,
  withoutRepeats,
  type Evidence,
} from '../../src/model/sweep/decide.js';
import type { AccountReport, LeakKind, Suspect } from '../../src/model/sweep/sweep.js';
import type { Leak, SweepPolicy } from '../../src/schema/output/system.js';
import { fc } from '../harness/property.js';

const hour = 3_600_000;
const policy: SweepPolicy = { minimumAgeMs: hour, cap: 2, delete: true };
const account = { name: 'aws', type: 'aws', site: 'default', lagMs: 0 };

function suspect(providerid: string, more: Partial<Suspect> = {}): Suspect {
  return {
    kind: 'orphan',
    providerid,
    key: `u/app-${providerid}/1`,
    cluster: 'web',
    state: 'running',
    ...more,
  };
}

function look(suspects: readonly Suspect[], more: Partial<AccountReport> = {}): AccountReport {
  return { account, machines: suspects.length + 3, suspects, problems: [], ...more };
}

const unknown = suspect('w', { kind: 'unknown', key: 'w/app-1/1' });

function lookWithUnknown(...others: readonly Suspect[]): AccountReport {
  return look([...others, unknown], { unknown: [{ uid: 'w', cluster: 'web', machines: 1 }] });
}

function seenBefore(one: Suspect, agoMs: number, passes = 1): Leak {
  return { ...one, account: 'aws', firstSeen: new Date(10 * hour - agoMs).toISOString(), passes };
}

function evidence(more: Partial<Evidence>): Evidence {
  return { now: 10 * hour, input: { policy }, earlier: [], reports: [], ...more };
}

const ids = (leaks: readonly Leak[]): readonly string[] => leaks.map(({ providerid }) => providerid);

describe('the machines that a sweep deletes', () => {
  const a = suspect('a');
  const cases: readonly (readonly [string, Partial<Evidence>, readonly string[]])[] = [
    ['nothing that is seen for the first time', { reports: [look([a])] }, []],
    [
      'what was seen before, long enough ago',
      { reports: [look([a])], earlier: [seenBefore(a, 2 * hour)] },
      ['a'],
    ],
    [
      'nothing younger than the policy says',
      { reports: [look([a])], earlier: [seenBefore(a, hour - 1)] },
      [],
    ],
    [
      'nothing younger than the provider may lag',
      {
        reports: [look([a], { account: { ...account, lagMs: 3 * hour } })],
        earlier: [seenBefore(a, 2 * hour)],
      },
      [],
    ],
    [
      'nothing in a dry run',
      {
        reports: [look([a])],
        earlier: [seenBefore(a, 2 * hour)],
        input: { policy: { ...policy, delete: false } },
      },
      [],
    ],
    [
      'in a dry run what is named',
      {
        reports: [look([a])],
        earlier: [seenBefore(a, 1)],
        input: { policy: { ...policy, delete: false }, named: ['a'] },
      },
      ['a'],
    ],
    [
      'nothing that is named and was not seen before',
      { reports: [look([a])], input: { policy, named: ['a'] } },
      [],
    ],
    ['nothing that is not shown any more', { reports: [look([])], earlier: [seenBefore(a, 2 * hour)] }, []],
    [
      'nothing else when something is named',
      {
        reports: [look([a, suspect('b')])],
        earlier: [seenBefore(a, 2 * hour), seenBefore(suspect('b'), 2 * hour)],
        input: { policy, named: ['b'] },
      },
      ['b'],
    ],
    [
      'nothing when another account could not be read',
      {
        reports: [look([a]), look([], { account: { ...account, name: 'other' }, problems: ['no answer'] })],
        earlier: [seenBefore(a, 2 * hour)],
      },
      [],
    ],
    [
      'nothing when the database has no record of a machine',
      { reports: [lookWithUnknown(a)], earlier: [seenBefore(a, 2 * hour)] },
      [],
    ],
    [
      'all but the unknown ones when a person has resumed the sweep since',
      {
        reports: [lookWithUnknown(a)],
        earlier: [seenBefore(a, 2 * hour), seenBefore(unknown, 2 * hour)],
        input: { policy, resumed: { at: '2026-01-01T00:00:00Z', by: 'x', uids: ['w'] } },
      },
      ['a'],
    ],
    [
      'nothing that was unknown, although its cluster has made a machine of its incarnation since',
      {
        reports: [look([a, { ...unknown, kind: 'lost', askedOf: 'cluster/web' }])],
        earlier: [seenBefore(a, 2 * hour), seenBefore(unknown, 2 * hour)],
      },
      [],
    ],
    [
      'no machine of a cluster that was unknown when a person resumed the sweep',
      {
        reports: [look([a, { ...unknown, kind: 'lost', askedOf: 'cluster/web' }])],
        earlier: [a, { ...unknown, kind: 'lost' as const }].map((one) => seenBefore(one, 2 * hour)),
        input: { policy, resumed: { at: '2026-01-01T00:00:00Z', by: 'x', uids: ['w'] } },
      },
      ['a'],
    ],
    [
      'nothing when the unknown ones are of a later restore',
      {
        reports: [lookWithUnknown(a)],
        earlier: [seenBefore(a, 2 * hour)],
        input: { policy, resumed: { at: '2026-01-01T00:00:00Z', by: 'x', uids: ['w0'] } },
      },
      [],
    ],
    [
      'what is unknown now, and was on record in an earlier pass',
      { reports: [lookWithUnknown()], earlier: [seenBefore({ ...unknown, kind: 'orphan' }, 2 * hour)] },
      ['w'],
    ],
    [
      'an unknown one that is named',
      {
        reports: [lookWithUnknown(a)],
        earlier: [seenBefore(a, 2 * hour), seenBefore(unknown, 1)],
        input: { policy, named: ['w'] },
      },
      ['w'],
    ],
    [
      'nothing when the server has lost a pass',
      {
        reports: [look([a])],
        earlier: [seenBefore(a, 2 * hour)],
        missing: { at: '1970-01-01T00:00:00Z', worker: 'w1' },
      },
      [],
    ],
    [
      'nothing while an earlier pass has stopped it',
      {
        reports: [look([a])],
        earlier: [seenBefore(a, 2 * hour)],
        stopped: { at: '1970-01-02T00:00:00Z', why: 'restored' },
        input: { policy, resumed: { at: '1970-01-01T00:00:00Z', by: 'x', uids: [] } },
      },
      [],
    ],
    [
      'what was seen before, when a person has resumed it since',
      {
        reports: [look([a])],
        earlier: [seenBefore(a, 2 * hour)],
        stopped: { at: '1970-01-02T00:00:00Z', why: 'restored' },
        input: { policy, resumed: { at: '1970-01-03T00:00:00Z', by: 'x', uids: [] } },
      },
      ['a'],
    ],
    [
      'no second machine of a key',
      { reports: [look([{ ...a, kind: 'duplicate' }])], earlier: [seenBefore(a, 2 * hour)] },
      [],
    ],
    [
      'nothing that a person gave up',
      { reports: [look([{ ...a, kind: 'abandoned' }])], earlier: [seenBefore(a, 2 * hour)] },
      [],
    ],
    [
      'nothing that a person had captured',
      { reports: [look([{ ...a, kind: 'captured', what: 'image' }])], earlier: [seenBefore(a, 2 * hour)] },
      [],
    ],
    [
      'what a person had captured, by name',
      {
        reports: [look([{ ...a, kind: 'captured', what: 'image' }])],
        earlier: [seenBefore(a, 2 * hour)],
        input: { policy, named: ['a'] },
      },
      ['a'],
    ],
    [
      'what a person gave up, by name',
      {
        reports: [look([{ ...a, kind: 'abandoned' }])],
        earlier: [seenBefore(a, 2 * hour)],
        input: { policy, named: ['a'] },
      },
      ['a'],
    ],
    [
      'of two machines of one key one at a time',
      {
        reports: [look([a, { ...suspect('b'), key: a.key }])],
        earlier: [seenBefore(a, 3 * hour), seenBefore({ ...suspect('b'), key: a.key }, 2 * hour)],
      },
      ['a'],
    ],
    [
      'a machine under another key is another machine',
      { reports: [look([{ ...a, key: 'u/app-a/2' }])], earlier: [seenBefore(a, 2 * hour)] },
      [],
    ],
  ];
  it.each(cases)('%s', (_title, given, expected) => {
    expect(ids(decideSweep(evidence(given)).ripe)).toEqual(expected);
  });

  it('the oldest are deleted, no more than the cap', () => {
    const all = ['a', 'b', 'c'].map((id) => suspect(id));
    const earlier = all.map((one, index) => seenBefore(one, (index + 2) * hour));
    expect(ids(decideSweep(evidence({ reports: [look(all)], earlier })).ripe)).toEqual(['c', 'b']);
  });

  it('exclude those of an account that could not be read', () => {
    const before = seenBefore(a, 2 * hour, 4);
    const { leaks } = decideSweep(
      evidence({ reports: [look([], { problems: ['no answer'] })], earlier: [before] }),
    );
    expect(leaks).toEqual([before]);
  });
});

describe('any observations', () => {
  const kinds: readonly LeakKind[] = ['orphan', 'lost', 'abandoned', 'duplicate', 'unreadable', 'captured'];
  const suspects = fc
    .array(
      fc.record({
        id: fc.constantFrom('a', 'b', 'c', 'd'),
        kind: fc.constantFrom(...kinds),
        incarnation: fc.integer({ min: 1, max: 2 }),
      }),
      { maxLength: 6 },
    )
    .map((list) =>
      list.map(({ id, kind, incarnation }) => suspect(id, { kind, key: `u/app-${id}/${incarnation}` })),
    );
  const looks = fc
    .array(fc.record({ name: fc.constantFrom('one', 'two'), suspects, fails: fc.boolean() }), {
      maxLength: 2,
    })
    .map((list) =>
      list
        .filter(({ name }, index) => list.findIndex((other) => other.name === name) === index)
        .map(({ name, suspects: seen, fails }) =>
          look(fails ? [] : seen, { account: { ...account, name }, problems: fails ? ['no answer'] : [] }),
        ),
    );
  const passes = fc.array(fc.record({ looks, minutes: fc.integer({ min: 1, max: 90 }) }), {
    minLength: 1,
    maxLength: 8,
  });
  const policies = fc.record({
    minimumAgeMs: fc.constantFrom(1, hour),
    cap: fc.integer({ min: 1, max: 3 }),
    delete: fc.boolean(),
  });

  it('lead to deletion only after the previous pass saw the machine too, for long enough and within the cap', () => {
    fc.assert(
      fc.property(passes, policies, (made, chosen) => {
        let now = 0;
        let earlier: readonly Leak[] = [];
        const since = new Map<string, number>();
        for (const pass of made) {
          now += pass.minutes * 60_000;
          const decision = decideSweep({ now, input: { policy: chosen }, earlier, reports: pass.looks });
          const seen = new Set(
            pass.looks.flatMap(({ account: { name }, suspects: list }) =>
              list.map((one) => leakId({ ...one, account: name })),
            ),
          );
          const unread = new Set(
            pass.looks.flatMap(({ account: { name }, problems }) => (problems.length > 0 ? [name] : [])),
          );
          const readable = unread.size === 0;
          if (!chosen.delete || !readable) expect(decision.ripe).toEqual([]);
          expect(decision.ripe.length).toBeLessThanOrEqual(chosen.cap);
          for (const leak of decision.ripe) {
            const first = since.get(leakId(leak));
            expect(seen).toContain(leakId(leak));
            expect(['orphan', 'lost']).toContain(leak.kind);
            expect(first).toBeDefined();
            expect(now - (first ?? now)).toBeGreaterThanOrEqual(chosen.minimumAgeMs);
          }
          for (const id of [...since.keys()]) {
            const [of] = JSON.parse(id) as readonly [string];
            if (!seen.has(id) && !unread.has(of)) since.delete(id);
          }
          for (const id of seen) if (!since.has(id)) since.set(id, now);
          expect(decision.leaks.length).toBeLessThanOrEqual(rememberedLeaks);
          earlier = decision.leaks;
        }
      }),
      { numRuns: 500 },
    );
  });

  it('lead to an explanation for every leak', () => {
    for (const kind of kinds) {
      const leak = seenBefore(suspect('a', { kind }), hour, 2);
      const report = {
        reportVersion: 1,
        at: new Date(10 * hour).toISOString(),
        policy,
        accounts: [],
        leaks: [leak],
        deleted: [],
        refused: [],
      } as const;
      expect(statusOfLeak(leak, report)).not.toBe('');
    }
  });
});

describe('the owner of a machine', () => {
  const node = { nodeId: 'app-1', incarnation: 3, payload: { providerid: 'm-1' } } as unknown as NodeState;
  const adopted = { ...node, keyUid: 'old' };
  const cases: readonly (readonly [string, NodeState, string, boolean])[] = [
    ["the node's own", node, 'u/app-1/3', true],
    ['of an earlier incarnation', node, 'u/app-1/2', false],
    ['of a later incarnation, after a reset', node, 'u/app-1/4', false],
    ['of another life', node, 'old/app-1/3', false],
    ['adopted from another life', adopted, 'old/app-1/3', true],
    ["of this life's key on a node that adopted", adopted, 'u/app-1/3', false],
    ['no key', node, 'app-1', false],
  ];
  it.each(cases)('%s', (_title, of, key, mine) => {
    expect(
      ownershipOf({ nodes: { 'app-1': of }, uid: 'u', incarnation: 7 }, { key, providerid: 'm-9' }),
    ).toEqual(mine ? { is: 'mine', providerid: 'm-1' } : { is: key === 'u/app-1/4' ? 'unmade' : 'free' });
  });

  it('a machine that is moved has two keys for the time, one of them without a machine yet', () => {
    const nodes = { web: { incarnation: 2, incarnationFloor: 3, moving: 3, payload: { providerid: 'm-1' } } };
    const owner = (incarnation: number) =>
      ownershipOf(
        { nodes, uid: 'u', incarnation: Infinity },
        { key: `u/web/${incarnation}`, providerid: '' },
      );
    expect([1, 2, 3, 4].map(owner)).toEqual([
      { is: 'free' },
      { is: 'mine', providerid: 'm-1' },
      { is: 'mine' },
      { is: 'unmade' },
    ]);
  });

  it.each([
    ['u/app-2/7', 'free'],
    ['u/app-2/8', 'unmade'],
    ['u/constructor/7', 'free'],
    ['u/constructor/8', 'unmade'],
    ['v/app-2/8', 'free'],
  ])('of a node that is gone: %s is %s', (key, is) => {
    expect(
      ownershipOf({ nodes: { 'app-1': node }, uid: 'u', incarnation: 7 }, { key, providerid: 'm-9' }),
    ).toEqual({ is });
  });

  it('keys of deleted machines are not used again, by nodes of their names', () => {
    const keys = ['u/app-1/5', 'u/app-1/2', 'u/app-9/8', 'u/constructor/6', 'v/app-1/9', '?'];
    const owned = withoutKeysOf(
      keys.map((key) => ({ key, providerid: '' })),
      { nodes: { 'app-1': node, 'app-2': node }, uid: 'u', incarnation: 4 },
    );
    expect(owned).toEqual({
      nodes: { 'app-1': { ...node, incarnationFloor: 5 }, 'app-2': node },
      incarnation: 8,
    });
    expect(recordMachine(owned.nodes['app-1'] ?? node, {} as never)).toMatchObject({ incarnation: 6 });
  });

  it('a machine was abandoned if an operation says so of its node and its id', () => {
    const operations = [{ abandoned: ['app-1 aws m-1 (by ops)'] }] as never;
    expect(wasAbandoned(operations, { key: 'u/app-1/3', providerid: 'm-1' })).toBe(true);
    expect(wasAbandoned(operations, { key: 'u/app-1/3', providerid: 'm-12' })).toBe(false);
    expect(wasAbandoned(operations, { key: 'u/app-11/3', providerid: 'm-1' })).toBe(false);
  });
});

it('shows machines that two accounts of one cloud share with the first one alone', () => {
  const shared = suspect('i-1');
  const other = { ...account, name: 'other' };
  const reports = withoutRepeats([
    look([shared]),
    look([shared, suspect('i-2')], { account: other }),
    look([shared], { account: { ...account, name: 'third', type: 'openstack' } }),
  ]);
  expect(reports.map(({ suspects }) => suspects.map(({ providerid }) => providerid))).toEqual([
    ['i-1'],
    ['i-2'],
    ['i-1'],
  ]);
});
