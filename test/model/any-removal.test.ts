import type { Consent } from '../../src/model/cluster/consent.js';
import { describe, expect, it } from 'vitest';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import type { Intent } from '../../src/model/plan/intent/intent.js';
import { PlanError } from '../../src/model/plan/plan-error.js';
import { nodeId } from '../../src/model/names.js';
import { removalsOf } from '../../src/model/plan/machines/removals.js';
import { isEmptyPlan, type Plan } from '../../src/model/plan/plan.js';
import { indexesOf, rangesByGroup } from '../../src/model/plan/ranges.js';
import { anyPicks, anySpec, names } from '../harness/model/any-spec.js';
import { TestCluster, titleOf, type Done } from '../harness/model/cluster.js';
import { group, service, spec } from '../harness/model/specs.js';
import { fc } from '../harness/property.js';

type Pick = (choices: number) => number;

/** What happens to an operation between two of its plans. */
const troubles = [
  'task done',
  'task failed',
  'run continued as new',
  'machine lost',
  'replacement asked',
  'hardware renamed',
] as const;
type Trouble = (typeof troubles)[number];

const anyIntent = fc.constantFrom<Intent['kind'][]>(
  'apply',
  'apply',
  'rollback',
  'rollback',
  'delete',
  'stop',
  'restart',
  'reconfigure',
  'replace',
  'exec',
);

function intentOf(kind: Intent['kind'], ids: readonly string[], pick: Pick): Intent {
  const services = [names[pick(names.length)] ?? 'a'];
  switch (kind) {
    case 'replace':
      return { kind, nodes: [ids[pick(ids.length)] ?? ''] };
    case 'start':
    case 'stop':
    case 'restart':
    case 'reconfigure':
      return { kind, services };
    case 'exec':
      return { kind, command: 'true' };
    case 'scale':
      return { kind, counts: {} };
    default:
      return { kind };
  }
}

/** What an operation may take, judged by the specs alone, and not by the planner. */
class Witness {
  readonly #kind: Intent['kind'];
  readonly #aim: ClusterSpec;
  /** Nodes whose machine may go: once each. */
  readonly #machines: Set<string>;

  constructor({ state }: TestCluster, intent: Intent, aim: ClusterSpec) {
    this.#kind = intent.kind;
    this.#aim = aim;
    const hardwareOf = (machine: string | undefined): string => machine?.split(' ')[0] ?? '';
    this.#machines = new Set(
      Object.values(state.nodes).flatMap(({ nodeId, group: of, facts }) => {
        const wanted = aim.nodes[of];
        const index = Number(nodeId.slice(of.length + 1));
        const isSpec = intent.kind === 'apply' || intent.kind === 'rollback';
        const leaves = isSpec && (wanted === undefined || index > wanted.count);
        const moves = isSpec && wanted !== undefined && hardwareOf(facts.machine) !== wanted.hardware;
        const isNamed = intent.kind === 'replace' && intent.nodes.includes(nodeId);
        return intent.kind === 'delete' || leaves || moves || isNamed ? [nodeId] : [];
      }),
    );
  }

  allow(id: string): void {
    this.#machines.add(id);
  }

  judge({ nodeId, step }: Done): void {
    const title = `${this.#kind}: ${titleOf(nodeId, step)}`;
    if (step.action === 'DELETE') expect(this.#machines.delete(nodeId), title).toBe(true);
    if (step.action !== 'REMOVE' || this.#machines.has(nodeId)) return;
    expect(['apply', 'rollback'], title).toContain(this.#kind);
    const wanted = this.#aim.nodes[nodeId.split('-')[0] ?? '']?.services;
    expect(wanted, title).not.toContain(step.service);
  }
}

/** The first plan of an operation. */
function planOf(cluster: TestCluster, intent: Intent, aim: ClusterSpec, consent?: Consent): Plan {
  cluster.begin(intent, aim, consent);
  return cluster.plan();
}

interface Story {
  readonly before: ClusterSpec;
  readonly after: ClusterSpec;
  readonly kind: Intent['kind'];
  readonly troubles: readonly Trouble[];
  readonly pick: Pick;
}

const story: fc.Arbitrary<Story> = fc.record({
  before: anySpec,
  after: anySpec,
  kind: anyIntent,
  troubles: fc.array(fc.constantFrom(...troubles), { minLength: 3, maxLength: 12 }),
  pick: anyPicks,
});

/** Plays an operation that is planned again after each trouble, until nothing is left to do. */
function play({ before, after, kind, troubles: met, pick }: Story): 'done' | 'held' | 'refused' {
  const cluster = new TestCluster(pick);
  cluster.run({ kind: 'apply' }, before);
  const ids = Object.keys(cluster.state.nodes);
  const intent = intentOf(kind, ids, pick);
  const isSpec = kind === 'apply' || kind === 'rollback';
  cluster.begin(intent, isSpec ? after : undefined);
  const witness = new Witness(cluster, intent, isSpec ? after : before);
  const next = (): Plan => cluster.plan(undefined, () => pick(2) === 1);
  const judge = (plan: Plan, fails = false, most = Infinity): void => {
    for (const { nodeId, facts } of Object.values(cluster.state.nodes))
      if (facts.machine !== undefined && facts.CONFIRM === undefined) witness.allow(nodeId);
    for (const done of cluster.play(plan, () => fails, most).done) witness.judge(done);
  };
  try {
    next();
  } catch (error) {
    if (error instanceof PlanError) return 'refused';
    throw error;
  }
  let held = false;
  for (const what of met) {
    try {
      const known = Object.keys(cluster.state.nodes);
      const id = known[pick(Math.max(1, known.length))];
      const node = cluster.state.nodes[id ?? ''];
      if (what === 'run continued as new')
        cluster.state = JSON.parse(JSON.stringify(cluster.state)) as TestCluster['state'];
      const isPlanned = cluster.state.planned === true;
      if (node !== undefined && what === 'machine lost' && isSpec && node.facts.CONFIRM === true) {
        cluster.facts(node.nodeId, { seen: 'gone' });
        witness.allow(node.nodeId);
      }
      const mayReplace = isSpec && node?.facts.CONFIRM === true && node.leaving !== true;
      if (node !== undefined && what === 'replacement asked' && isPlanned && mayReplace) {
        cluster.facts(node.nodeId, { toReplace: true });
        witness.allow(node.nodeId);
      }
      cluster.renamed = what === 'hardware renamed' && isPlanned ? ['small', 'large'] : [];
      const plan = next();
      if (cluster.renamed.length === 0) judge(plan, what === 'task failed', 1);
    } catch (error) {
      if (!(error instanceof PlanError)) throw error;
      expect(what, error.message).toBe('hardware renamed');
      expect(error.message).toMatch(/more than it listed when it started/);
      held = true;
    }
  }
  cluster.renamed = [];
  for (let plan = next(), round = 0; !isEmptyPlan(plan); plan = next(), round += 1) {
    judge(plan);
    expect(round).toBeLessThan(40);
  }
  return held ? 'held' : 'done';
}

describe('an operation that is planned again at any time', () => {
  it('removes only machines and services that it named when it began, that were lost, or that a user marked', () => {
    const ends = { done: 0, held: 0, refused: 0 };
    fc.assert(
      fc.property(story, (told) => {
        ends[play(told)] += 1;
      }),
      { numRuns: 60 },
    );
    expect(ends.done).toBeGreaterThan(25);
    expect(ends.held).toBeGreaterThan(2);
  });

  it('is refused if it loses a machine that its request does not allow, and only then', () => {
    const ends = { planned: 0, refused: 0 };
    fc.assert(
      fc.property(story, ({ before, after, pick }) => {
        const cluster = new TestCluster(pick);
        cluster.run({ kind: 'apply' }, before);
        const { state } = cluster;
        const plan = planOf(cluster, { kind: 'apply' }, after);
        const lost = removalsOf(plan).flatMap(({ group: of, nodes, machine }) =>
          machine === true ? indexesOf(nodes).map((index) => nodeId(of, index)) : [],
        );
        const allowed = lost.filter(() => pick(4) > 0);
        cluster.state = state;
        const consent = { losable: rangesByGroup(allowed) };
        if (allowed.length === lost.length) {
          expect(planOf(cluster, { kind: 'apply' }, after, consent)).toEqual(plan);
          ends.planned += 1;
        } else {
          expect(() => planOf(cluster, { kind: 'apply' }, after, consent)).toThrow(
            /whose loss was not confirmed/,
          );
          ends.refused += 1;
        }
      }),
      { numRuns: 60 },
    );
    expect(ends.planned).toBeGreaterThan(10);
    expect(ends.refused).toBeGreaterThan(5);
  });

  it('does not lose a machine of an earlier run that was not confirmed again, unless its request allows it', () => {
    const cluster = new TestCluster();
    const two = spec({ app: group(2, 'app') }, { app: service() });
    cluster.run({ kind: 'apply' }, two);
    const one = { ...two, nodes: { app: { ...two.nodes['app'], count: 1 } } } as ClusterSpec;
    const { state } = cluster;
    const node = state.nodes['app-2'];
    if (node === undefined) throw new Error('there is no app-2');
    const { CONFIRM: _confirmed, ...facts } = node.facts;
    const adopted = { ...state.nodes, 'app-2': { ...node, keyUid: 'an earlier run', facts } };
    cluster.state = { ...state, nodes: adopted };
    expect(() => planOf(cluster, { kind: 'apply' }, one, { losable: {} })).toThrow(
      /machine of app-2, whose loss/,
    );
    const allowed = { losable: { app: [[2, 2]] } } as const;
    expect(removalsOf(planOf(cluster, { kind: 'apply' }, one, allowed))).toMatchObject([
      { group: 'app', nodes: [[2, 2]] },
    ]);
  });

  it('keeps every machine of a locked cluster', () => {
    let refused = 0;
    fc.assert(
      fc.property(story, (told) => {
        const { before, after, kind, pick } = told;
        const cluster = new TestCluster(pick);
        cluster.run({ kind: 'apply' }, { ...before, lock: true });
        const ids = Object.keys(cluster.state.nodes);
        const intent = intentOf(kind, ids, pick);
        // A file that unlocks the cluster takes no machine yet; from its first plan on the cluster is not locked.
        const unlocks = pick(2) === 1;
        const target = { ...after, lock: !unlocks };
        cluster.begin(intent, kind === 'apply' || kind === 'rollback' ? target : undefined);
        cluster.facts(ids[pick(ids.length)] ?? '', { seen: 'gone' });
        try {
          const rounds = unlocks ? 1 : 40;
          for (let plan = cluster.plan(), round = 0; round < rounds && !isEmptyPlan(plan); round += 1) {
            for (const { nodeId, step } of cluster.play(plan).done)
              expect(step.action, `${kind} ${nodeId}`).not.toBe('DELETE');
            plan = cluster.plan();
          }
        } catch (error) {
          if (!(error instanceof PlanError)) throw error;
          refused += 1;
        }
      }),
      { numRuns: 60 },
    );
    expect(refused).toBeGreaterThan(10);
  });
});

describe('a plan without a spec', () => {
  it.each<Intent>([
    { kind: 'apply' },
    { kind: 'rollback' },
    { kind: 'stop', services: [] },
    { kind: 'restart', services: [] },
    { kind: 'replace', nodes: ['app-1'] },
    { kind: 'exec', command: 'true' },
  ])('is refused for everything but delete: %j', (intent) => {
    const cluster = new TestCluster();
    cluster.run({ kind: 'apply' }, spec({ app: group(2, 'app') }, { app: service() }));
    cluster.begin(intent);
    cluster.state = { ...cluster.state, spec: undefined };
    expect(() => cluster.plan()).toThrow(/the cluster has no spec|there is no previous spec/);
  });
});
