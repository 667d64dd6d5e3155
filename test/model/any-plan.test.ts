import { describe, expect, it } from 'vitest';
import type { Intent } from '../../src/model/plan/intent/intent.js';
import { PlanError } from '../../src/model/plan/plan-error.js';
import { isEmptyPlan, type Plan } from '../../src/model/plan/plan.js';
import { directDependencies, type ServiceOutline } from '../../src/model/plan/order/dependencies.js';
import { outlinesOf } from '../../src/model/plan/order/dependencies.js';
import type { ClusterSpec } from '../../src/model/cluster/spec.js';
import { TestCluster, titleOf, type Done } from '../harness/model/cluster.js';
import { anyPicks, anySpec, names } from '../harness/model/any-spec.js';
import { fc } from '../harness/property.js';

const width = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined });

interface Asked {
  readonly kind: Intent['kind'];
  readonly width: number | undefined;
  /** Choose among what is there. */
  readonly service: number;
  readonly nodes: readonly number[] | undefined;
  readonly stopped: number | undefined;
  /** Of an apply: to the service. */
  readonly limited: boolean;
  readonly drifts: readonly {
    readonly node: number;
    readonly seen: 'gone' | 'rebooted' | 'moved' | 'stopped';
  }[];
}

const anyIntent: fc.Arbitrary<Asked> = fc.record({
  kind: fc.constantFrom<Intent['kind'][]>(
    'apply',
    'rollback',
    'delete',
    'start',
    'stop',
    'restart',
    'reconfigure',
    'replace',
    'exec',
  ),
  width,
  service: fc.nat(4),
  nodes: fc.option(fc.array(fc.nat(11), { minLength: 1, maxLength: 4 }), { nil: undefined }),
  stopped: fc.option(fc.nat(4), { nil: undefined, freq: 3 }),
  limited: fc.boolean(),
  drifts: fc.array(
    fc.record({
      node: fc.nat(11),
      seen: fc.constantFrom('gone' as const, 'rebooted' as const, 'moved' as const, 'stopped' as const),
    }),
    { maxLength: 2 },
  ),
});

/**
 * Makes what was asked for fit to what the cluster has; undefined where the cluster has nothing of the kind.
 */
function intentFor(cluster: TestCluster, asked: Asked): Intent | undefined {
  const ids = Object.keys(cluster.state.nodes);
  const chosen = asked.nodes?.map((node) => ids[node % ids.length] ?? '');
  const nodes = chosen === undefined ? {} : { nodes: [...new Set(chosen)] };
  const rolling = asked.width === undefined ? {} : { width: asked.width };
  const services = [names[asked.service] ?? 'a'];
  switch (asked.kind) {
    case 'apply':
      return { kind: 'apply', ...rolling, ...nodes, ...(asked.limited ? { services } : {}) };
    case 'rollback':
      return { kind: 'rollback', ...rolling };
    case 'delete':
      return { kind: 'delete' };
    case 'start':
    case 'stop':
      return { kind: asked.kind, services };
    case 'restart':
      return { kind: 'restart', services, ...nodes, ...rolling };
    case 'reconfigure':
      return {
        kind: 'reconfigure',
        services,
        ...nodes,
        ...rolling,
        ...(asked.service % 2 === 0 ? { restart: true } : {}),
      };
    case 'replace':
      return { kind: 'replace', nodes: nodes.nodes ?? ids.slice(0, 2), ...rolling };
    case 'exec':
      return { kind: 'exec', ...nodes, ...rolling, command: 'true' };
  }
}

/** A cluster that was brought to a spec, and of which something was asked after that. */
interface Story {
  readonly cluster: TestCluster;
  readonly target: ClusterSpec;
}

function tell(
  first: ClusterSpec,
  second: ClusterSpec,
  asked: Asked,
  pick: (choices: number) => number,
): Story | undefined {
  const cluster = new TestCluster(pick);
  cluster.run({ kind: 'apply' }, first);
  const stopped = asked.stopped === undefined ? [] : [names[asked.stopped] ?? 'a'];
  cluster.state = { ...cluster.state, stopped };
  const ids = Object.keys(cluster.state.nodes);
  if (asked.kind === 'apply')
    for (const { node, seen } of asked.drifts) cluster.facts(ids[node % ids.length] ?? '', { seen });
  const intent = intentFor(cluster, asked);
  if (intent === undefined) return undefined;
  cluster.begin(intent);
  const isLimited = intent.kind === 'apply' && (intent.nodes ?? intent.services) !== undefined;
  const wanted = isLimited ? withPeersOf(first, second) : second;
  const target = intent.kind === 'apply' || intent.kind === 'rollback' ? wanted : first;
  try {
    cluster.plan(target);
  } catch (error) {
    if (error instanceof PlanError) return undefined;
    throw error;
  }
  return { cluster, target };
}

describe('any operation on any cluster', () => {
  const story = [anySpec, anySpec, anyIntent, anyPicks] as const;
  // Thousands were run when this was written; each takes some 20 ms.
  const runs = { numRuns: 60 };

  it('finishes in any order of tasks, never uses more batch slots than the width, and leaves nothing to do', () => {
    let told = 0;
    fc.assert(
      fc.property(...story, (first, second, asked, pick) => {
        const found = tell(first, second, asked, pick);
        if (found === undefined) return;
        told += 1;
        const { cluster, target } = found;
        for (
          let plan = cluster.plan(target), round = 0;
          !isEmptyPlan(plan) || round === 0;
          plan = cluster.plan(target), round += 1
        ) {
          const play = cluster.play(plan);
          expect(play.stuck).toEqual([]);
          expect(play.widest).toBeLessThanOrEqual(plan.width ?? 0);
          // Only what was left for later may remain.
          if (plan.later === undefined)
            expect(isEmptyPlan(cluster.plan(target)), describePlan(cluster.plan(target))).toBe(true);
          expect(round).toBeLessThan(30);
        }
        if (asked.kind === 'delete') expect(cluster.state.nodes).toEqual({});
      }),
      runs,
    );
    expect(told).toBeGreaterThan(30);
  });

  it('gives a reason for every repeated step', () => {
    fc.assert(
      fc.property(...story, (first, second, asked, pick) => {
        const found = tell(first, second, asked, pick);
        if (found === undefined) return;
        const { cluster, target } = found;
        for (const {
          group: of,
          purpose,
          nodes: [range],
          chain,
        } of cluster.plan(target).kinds) {
          const facts = cluster.state.nodes[`${of}-${range?.[0]}`]?.facts;
          for (const step of purpose === 'update' ? chain : []) {
            const known = step.service === undefined ? facts : facts?.services[step.service];
            if (known !== undefined && step.action in known)
              expect(step.reason, titleOf(of, step)).toBeDefined();
          }
        }
      }),
      runs,
    );
  });

  it('continues after a failure with exactly the remaining steps, in the order of dependencies', () => {
    fc.assert(
      fc.property(...story, fc.nat(), (first, second, asked, pick, victim) => {
        const found = tell(first, second, asked, pick);
        if (found === undefined) return;
        const { cluster, target } = found;
        const plan = cluster.plan(target);
        const titles = titlesOf(plan);
        const broken = titles[victim % Math.max(1, titles.length)];
        const play = cluster.play(plan, (title) => title === broken);
        for (const title of play.failed) expectNothingAfter(plan, title, play.done);
        let left = cluster.plan(target);
        for (let round = 0; !isEmptyPlan(left); round += 1) {
          expect(cluster.play(left).stuck).toEqual([]);
          left = cluster.plan(target);
          expect(round, describePlan(left)).toBeLessThan(30);
        }
      }),
      runs,
    );
  });

  it('leaves exactly what a limited apply did not do to the next apply', () => {
    fc.assert(
      fc.property(...story, (first, second, asked, pick) => {
        const found = tell(first, second, { ...asked, kind: 'apply' }, pick);
        if (found === undefined) return;
        const { cluster, target } = found;
        const finish = (): void => {
          let plan = cluster.plan(target);
          for (let round = 0; !isEmptyPlan(plan); round += 1) {
            expect(cluster.play(plan).stuck).toEqual([]);
            plan = cluster.plan(target);
            expect(round, describePlan(plan)).toBeLessThan(30);
          }
        };
        const plan = cluster.plan(target);
        const isLimited = plan.left !== undefined;
        cluster.play(plan);
        finish();
        const { left = 0 } = cluster.state.operation ?? {};
        cluster.begin({ kind: 'apply' });
        const rest = cluster.plan(target);
        if (isLimited && left === 0) expect(isEmptyPlan(rest), describePlan(rest)).toBe(true);
        finish();
        expect(groupSizes(cluster)).toEqual(groupSizesIn(target));
        for (const { group: of, facts } of Object.values(cluster.state.nodes))
          expect(target.nodes[of]?.services).toEqual(expect.arrayContaining(Object.keys(facts.services)));
      }),
      runs,
    );
  });

  it('stops whatever needs a service before the service has stopped on all nodes', () => {
    fc.assert(
      fc.property(anySpec, anySpec, anyPicks, fc.boolean(), (first, second, pick, replaces) => {
        const cluster = new TestCluster(pick);
        cluster.run({ kind: 'apply' }, together(first));
        const running = new Map([...runningOn(cluster)].map(([name, on]) => [name, new Set(on)]));
        const same = together(replaces ? first : { ...second, nodes: mapCounts(second, first) });
        cluster.begin(
          replaces ? { kind: 'replace', nodes: Object.keys(cluster.state.nodes) } : { kind: 'apply' },
        );
        const watched = watchNeeds(running, same);
        for (let plan = cluster.plan(same), round = 0; !isEmptyPlan(plan); plan = cluster.plan(same)) {
          for (const done of cluster.play(plan).done) watched(done);
          round += 1;
          expect(round).toBeLessThan(30);
        }
      }),
      runs,
    );
  });

  it('keeps services up in a rolling operation: no more nodes than the width are down at any time', () => {
    fc.assert(
      fc.property(
        anySpec,
        anySpec,
        fc.integer({ min: 1, max: 2 }),
        anyPicks,
        (first, second, places, pick) => {
          const cluster = new TestCluster(pick);
          cluster.run({ kind: 'apply' }, first);
          const before = runningOn(cluster);
          cluster.begin({ kind: 'apply', width: places });
          const target = { ...second, nodes: mapCounts(second, first) };
          for (
            let plan = cluster.plan(target), round = 0;
            !isEmptyPlan(plan);
            plan = cluster.plan(target), round += 1
          ) {
            const watched = watch(before, target, places);
            for (const done of cluster.play(plan).done) watched(done);
            expect(round).toBeLessThan(30);
          }
        },
      ),
      runs,
    );
  });
});

function groupSizes({ state }: TestCluster): Readonly<Record<string, number>> {
  const sizes: Record<string, number> = {};
  for (const { group: of } of Object.values(state.nodes)) sizes[of] = (sizes[of] ?? 0) + 1;
  return sizes;
}

function groupSizesIn({ nodes }: ClusterSpec): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(nodes).map(([name, { count }]) => [name, count]));
}

/** Services outside of a limited apply notice that they read other nodes only once the spec is accepted. */
function withPeersOf(first: ClusterSpec, second: ClusterSpec): ClusterSpec {
  const services = Object.entries(second.services).map(([name, wanted]) => {
    const { peers = wanted.peers, onPeersChange = wanted.onPeersChange } = first.services[name] ?? {};
    return [name, { ...wanted, peers, onPeersChange }] as const;
  });
  return { ...second, services: Object.fromEntries(services) };
}

/** Stands for a cluster file that says nothing of rolling. */
function together({ services, ...rest }: ClusterSpec): ClusterSpec {
  return {
    ...rest,
    services: Object.fromEntries(
      Object.entries(services).map(([name, { rolling: _rolling, ...one }]) => [name, one]),
    ),
  };
}

/**
 * Follows START and STOP, and complains when a service runs while one that it needs has stopped everywhere.
 */
function watchNeeds(running: Map<string, Set<string>>, target: ClusterSpec): (done: Done) => void {
  const outlines = outlinesOf(target.services);
  return ({ nodeId, step }) => {
    for (const name of step.action === 'DELETE' ? running.keys() : [step.service ?? '']) {
      const on = running.get(name) ?? new Set();
      if (step.action === 'START') running.set(name, on.add(nodeId));
      if (step.action !== 'STOP' && step.action !== 'DELETE') continue;
      if (!on.delete(nodeId) || on.size > 0 || !hasBoth(outlines[name])) continue;
      const users = Object.keys(outlines).filter((other) =>
        directDependencies(outlines, other, 'runtime').includes(name),
      );
      const up = users.filter((other) => hasBoth(outlines[other]) && (running.get(other)?.size ?? 0) > 0);
      expect(up, `${name} has stopped on ${nodeId}`).toEqual([]);
    }
  };
}

function hasBoth(outline: ServiceOutline | undefined): boolean {
  return outline?.actions.includes('STOP') === true && outline.actions.includes('START');
}

function titlesOf(plan: Plan): readonly string[] {
  return plan.kinds.flatMap(({ group: of, nodes, chain }) =>
    nodes.flatMap(([from]) => chain.map((step) => titleOf(`${of}-${from}`, step))),
  );
}

/**
 * No task that waits for the failed one, directly, was done: its service's dependents are still where they
 * were.
 */
function expectNothingAfter(plan: Plan, failed: string, done: readonly Done[]): void {
  const [action = '', id = '', name] = failed.split(' ');
  const own =
    plan.kinds.find((kind) => kind.nodes.some(([from]) => `${kind.group}-${from}` === id))?.chain ?? [];
  const place = own.findIndex((one) => one.action === action && one.service === name);
  const later = own.slice(place + 1);
  expect(done.filter((one) => one.nodeId === id && later.includes(one.step))).toEqual([]);
  const gate = own[place]?.counts;
  if (gate !== undefined) expect(done.filter((one) => one.step.after?.includes(gate) === true)).toEqual([]);
}

function runningOn(cluster: TestCluster): ReadonlyMap<string, ReadonlySet<string>> {
  const running = new Map<string, Set<string>>();
  for (const { nodeId, facts } of Object.values(cluster.state.nodes)) {
    for (const [name, { START: runs }] of Object.entries(facts.services)) {
      if (runs !== undefined) running.set(name, (running.get(name) ?? new Set()).add(nodeId));
    }
  }
  return running;
}

/** The second spec with the groups and counts of the first: nodes stay, machines and services change. */
function mapCounts(second: ClusterSpec, first: ClusterSpec): ClusterSpec['nodes'] {
  return Object.fromEntries(
    Object.entries(first.nodes).map(([name, wanted]) => [
      name,
      { ...wanted, hardware: Object.values(second.nodes)[0]?.hardware ?? 'small' },
    ]),
  );
}

/**
 * Follows START and STOP of services that ran before and are to run after, and complains when too many are
 * down.
 */
function watch(
  before: ReadonlyMap<string, ReadonlySet<string>>,
  target: ClusterSpec,
  places: number,
): (done: Done) => void {
  const outlines = outlinesOf(target.services);
  const down = new Map<string, Set<string>>();
  return ({ nodeId, step }) => {
    const touched = step.action === 'DELETE' ? [...before.keys()] : [step.service ?? ''];
    for (const name of touched) {
      if (before.get(name)?.has(nodeId) !== true || outlines[name]?.actions.includes('START') !== true)
        continue;
      const gone = down.get(name) ?? new Set<string>();
      down.set(name, gone);
      if (step.action === 'START') gone.delete(nodeId);
      if (step.action === 'STOP' || step.action === 'DELETE') gone.add(nodeId);
      expect(gone.size, `${name} is down on ${[...gone].join(', ')}`).toBeLessThanOrEqual(places);
    }
  };
}

function describePlan(plan: Plan): string {
  return plan.kinds
    .map(
      ({ group: of, purpose, chain, nodes }) =>
        `${purpose} ${of} ${JSON.stringify(nodes)}: ${chain.map((step) => titleOf('', step)).join(', ')}`,
    )
    .join('\n');
}
