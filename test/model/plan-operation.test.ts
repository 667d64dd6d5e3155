import { defaultRepair } from '../../src/model/cluster/default-repair.js';
import { describe, expect, it } from 'vitest';
import { planOperation } from '../../src/model/plan/plan-operation.js';
import { emptyCluster, type CurrentCluster, type NodeSummary } from '../../src/model/plan/facts/current.js';
import { bootstrapDigest } from '../../src/model/plan/facts/digest.js';
import { automators } from '../harness/model/specs.js';
import type { Action } from '../../src/model/action.js';
import { isEmptyPlan, taskCount, type Kind, type Plan } from '../../src/model/plan/plan.js';
import { indexesOf } from '../../src/model/plan/ranges.js';
import type { PlannedPlacement } from '../../src/model/node/placement.js';
import { stableJson } from '../../src/model/node/payload.js';
import type { Json } from '../../src/model/json.js';
import type { PlannedFacts } from '../../src/model/plan/facts/current.js';
import { type ClusterSpec, type GroupSpec, type ServiceSpec } from '../../src/model/cluster/spec.js';

const shell = (script: string) => ({ type: 'shell', fields: { script } });
const all = {
  install: shell('i'),
  configure: shell('c'),
  initialize: shell('n'),
  start: shell('s'),
  stop: shell('t'),
  remove: shell('r'),
};

function service(changes: Partial<ServiceSpec> = {}): ServiceSpec {
  const none = { requires: [], uses: [] };
  return {
    provides: [],
    conflicts: [],
    install: none,
    runtime: none,
    peers: 'all',
    onPeersChange: 'configure',
    actions: all,
    ...changes,
  };
}

function needing(...names: string[]): Pick<ServiceSpec, 'install' | 'runtime'> {
  return { install: { requires: names, uses: [] }, runtime: { requires: names, uses: [] } };
}

function group(count: number, services: readonly string[]): GroupSpec {
  return { count, services, provider: 'local', hardware: 'small', image: 'host', fields: {} };
}

function spec(
  groups: Record<string, GroupSpec>,
  services: Record<string, ServiceSpec>,
  config: Record<string, Json> = {},
): ClusterSpec {
  return { name: 'web', config, nodes: groups, services, onFailure: 'hold', repair: defaultRepair };
}

const digest = (value: Json): string => stableJson(value);
const placement: PlannedPlacement = {
  provider: 'local',
  type: 'local',
  site: 'default',
  flavor: 'small',
  image: 'host',
  fields: {},
  digest: 'm1',
};

function plan(wanted: ClusterSpec | undefined, current: CurrentCluster = emptyCluster): Plan {
  const placements = Object.fromEntries(Object.keys(wanted?.nodes ?? {}).map((name) => [name, [placement]]));
  return planOperation({
    intent: { kind: wanted === undefined ? 'delete' : 'apply' },
    spec: wanted,
    current,
    placements,
    digest,
    bootstrapDigest: (services) => bootstrapDigest(automators, wanted?.services ?? {}, services, digest),
  });
}

/** The facts of nodes on which a plan was carried out to its end. */
function carriedOut(made: Plan, outlines: CurrentCluster['services']): CurrentCluster {
  const nodes = made.kinds.map((kind): NodeSummary => ({
    group: kind.group,
    nodes: kind.nodes,
    facts: factsAfter(kind),
  }));
  return { nodes, services: outlines };
}

function factsAfter(kind: Kind): PlannedFacts {
  const services: Record<string, Record<string, string>> = {};
  for (const step of kind.chain) {
    if (step.service !== undefined) (services[step.service] ??= {})[step.action] = step.digest ?? 'x';
  }
  const BOOTSTRAP = kind.chain.find(({ action }) => action === 'BOOTSTRAP')?.digest;
  return { machine: 'm1', CREATE: true, CONFIRM: true, BOOTSTRAP, services };
}

function titles(kind: Kind | undefined): readonly string[] {
  return (kind?.chain ?? []).map((step) =>
    step.service === undefined ? step.action : `${step.action} ${step.service}`,
  );
}

/** All gates that a node has passed when it comes to an action. */
function waitsBefore(kind: Kind | undefined, action: Action): readonly string[] {
  const chain = kind?.chain ?? [];
  return chain
    .slice(0, chain.findIndex((step) => step.action === action) + 1)
    .flatMap(({ after = [] }) => after);
}

const twoTiers = spec(
  { app: group(2, ['app']), lb: group(1, ['lb']) },
  { app: service({ peers: 'none', onPeersChange: 'nothing' }), lb: service(needing('app')) },
);

function outlinesOf(wanted: ClusterSpec): CurrentCluster['services'] {
  return Object.fromEntries(
    Object.entries(wanted.services).map(
      ([name, { actions, provides, install, runtime, peers, onPeersChange }]) => [
        name,
        {
          provides,
          install,
          runtime,
          peers,
          onPeersChange,
          actions: Object.keys(actions).map((key) => key.toUpperCase() as 'INSTALL'),
        },
      ],
    ),
  );
}

describe('planOperation', () => {
  it('creates every node with the whole chain, and gates between services', () => {
    const made = plan(twoTiers);
    expect(titles(made.kinds[0])).toEqual([
      'CREATE',
      'CONFIRM',
      'BOOTSTRAP',
      'INSTALL app',
      'CONFIGURE app',
      'INITIALIZE app',
      'START app',
    ]);
    const install = made.kinds[1]?.chain.find((step) => step.action === 'INSTALL');
    expect(install?.after).toEqual(['INSTALL:app']);
    expect(waitsBefore(made.kinds[1], 'START')).toContain('START:app');
    expect(made.gates['START:app']).toBe(2);
    expect(made.gates['CONFIRM:@app']).toBe(2);
  });

  it('plans nothing for an unchanged cluster', () => {
    const current = carriedOut(plan(twoTiers), outlinesOf(twoTiers));
    expect(isEmptyPlan(plan(twoTiers, current))).toBe(true);
  });

  it('scales up: new nodes, and only readers of nodes are configured again', () => {
    const current = carriedOut(plan(twoTiers), outlinesOf(twoTiers));
    const wanted = { ...twoTiers, nodes: { ...twoTiers.nodes, app: group(4, ['app']) } };
    const made = plan(wanted, current);
    const created = made.kinds.find((kind) => kind.purpose === 'create');
    expect(indexesOf(created?.nodes ?? [])).toEqual([3, 4]);
    const updated = made.kinds.filter((kind) => kind.purpose === 'update');
    expect(updated.map((kind) => kind.group)).toEqual(['lb']);
    expect(titles(updated[0])).toEqual(['CONFIGURE lb']);
    expect(updated[0]?.chain[0]?.after).toEqual(['CONFIRM:@app']);
  });

  it('scales down: readers are configured first, then the nodes are drained and deleted', () => {
    const current = carriedOut(plan(twoTiers), outlinesOf(twoTiers));
    const made = plan({ ...twoTiers, nodes: { ...twoTiers.nodes, app: group(1, ['app']) } }, current);
    const removed = made.kinds.find((kind) => kind.purpose === 'remove');
    expect(indexesOf(removed?.nodes ?? [])).toEqual([2]);
    expect(titles(removed)).toEqual(['STOP app', 'REMOVE app', 'DELETE']);
    expect(removed?.chain[0]?.after).toEqual(['CONFIGURE:lb']);
  });

  it('deletes all: dependents stop first, and a failing STOP does not keep a machine', () => {
    const made = plan(undefined, carriedOut(plan(twoTiers), outlinesOf(twoTiers)));
    const app = made.kinds.find((kind) => kind.group === 'app');
    expect(titles(app)).toEqual(['STOP app', 'REMOVE app', 'DELETE']);
    expect(app?.chain[0]?.after).toEqual(['down/STOP:lb']);
    expect(app?.chain.map((step) => step.mayFail)).toEqual([true, true, undefined]);
  });

  it('continues from the failed task with the corrected script', () => {
    const half: PlannedFacts = {
      machine: 'm1',
      CREATE: true,
      CONFIRM: true,
      BOOTSTRAP: plan(spec({ app: group(1, ['app']) }, { app: service() })).kinds[0]?.chain.find(
        ({ action }) => action === 'BOOTSTRAP',
      )?.digest,
      services: { app: { INSTALL: digest(shell('i')), begun: 'CONFIGURE' } },
    };
    const corrected = spec(
      { app: group(1, ['app']) },
      { app: service({ actions: { ...all, configure: shell('better') } }) },
    );
    const made = plan(corrected, {
      nodes: [{ group: 'app', nodes: [[1, 1]], facts: half }],
      services: outlinesOf(corrected),
    });
    expect(titles(made.kinds[0])).toEqual(['CONFIGURE app', 'INITIALIZE app', 'START app']);
  });

  it('replaces a node whose machine no longer matches', () => {
    const current = carriedOut(plan(twoTiers), outlinesOf(twoTiers));
    const made = planOperation({
      intent: { kind: 'apply' },
      spec: twoTiers,
      current,
      digest,
      bootstrapDigest: (services) => bootstrapDigest(automators, twoTiers.services, services, digest),
      placements: { app: [{ ...placement, flavor: 'large', digest: 'm2' }], lb: [placement] },
    });
    const replaced = made.kinds.find((kind) => kind.purpose === 'replace');
    expect(titles(replaced).slice(0, 5)).toEqual(['STOP app', 'REMOVE app', 'DELETE', 'CREATE', 'CONFIRM']);
  });

  it('adds and removes services of an existing node', () => {
    const before = spec({ app: group(1, ['app']) }, { app: service() });
    const after = spec({ app: group(1, ['other']) }, { other: service() });
    const made = plan(after, carriedOut(plan(before), outlinesOf(before)));
    expect(titles(made.kinds[0])).toEqual([
      'INSTALL other',
      'CONFIGURE other',
      'INITIALIZE other',
      'START other',
      'STOP app',
      'REMOVE app',
    ]);
  });

  it('configures again when the configuration changed, and restarts if the service requires it', () => {
    const calm = spec({ app: group(1, ['app']) }, { app: service() }, { size: 1 });
    const current = carriedOut(plan(calm), outlinesOf(calm));
    expect(titles(plan({ ...calm, config: { size: 2 } }, current).kinds[0])).toEqual(['CONFIGURE app']);
    const restarting = spec(
      { app: group(1, ['app']) },
      { app: service({ onPeersChange: 'restart' }) },
      { size: 2 },
    );
    expect(titles(plan(restarting, current).kinds[0])).toEqual(['STOP app', 'CONFIGURE app', 'START app']);
  });

  it('passes a gate through a service without that action', () => {
    const { start: _start, ...noStart } = all;
    const made = plan(
      spec(
        { a: group(1, ['a']), b: group(1, ['b']), c: group(1, ['c']) },
        { a: service(needing('b')), b: service({ ...needing('c'), actions: noStart }), c: service() },
      ),
    );
    expect(
      waitsBefore(
        made.kinds.find((kind) => kind.group === 'a'),
        'START',
      ),
    ).toContain('START:c');
  });

  it('names the cycle if services wait for each other', () => {
    const circle = spec({ a: group(1, ['a', 'b']) }, { a: service(needing('b')), b: service(needing('a')) });
    expect(() => plan(circle)).toThrow(/STOP:a -> STOP:b -> STOP:a/);
  });

  it('is constant in the number of nodes: the plan of 10,000 nodes is as small as that of 10', () => {
    const services = Object.fromEntries(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((name, place, names) => [
        name,
        service(place === 0 ? {} : needing(names[place - 1] ?? '')),
      ]),
    );
    const sized = (count: number): Plan => plan(spec({ app: group(count, Object.keys(services)) }, services));
    expect(sized(10_000).kinds[0]?.chain).toEqual(sized(10).kinds[0]?.chain);
    expect(taskCount(sized(10_000))).toBe(10_000 * 27);
  });
});
