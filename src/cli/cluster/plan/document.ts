import type { PlanPreview } from '../../../client/preview.js';
import { nodeId } from '../../../model/names.js';
import { isEmptyPlan, type Kind, type Plan } from '../../../model/plan/plan.js';
import { indexesOf } from '../../../model/plan/ranges.js';
import type { PlanDocument } from '../../../schema/output/plan.js';
import { driftOf } from './drift.js';
import { edgesOf, stepId } from './graph.js';
import { allTasks, countsOf } from './plan-text.js';

/** A plan for programs: the resulting layout, each task with its nodes, and its dependencies. */
export function describePlan(
  cluster: string,
  what: string,
  { plan, current, losses, changes, warnings }: PlanPreview,
): PlanDocument {
  return {
    cluster,
    what,
    changes: !isEmptyPlan(plan),
    warnings,
    counts: {
      ...Object.fromEntries(countsOf(plan).map(({ purpose, nodes }) => [purpose, nodes])),
      tasks: allTasks(plan),
    },
    drift: driftOf(current, plan).map((drift) => ({
      nodes: nodesOf(drift),
      seen: drift.seen,
      then: drift.then,
    })),
    lostDisks: losses.lost,
    released: losses.released,
    stopped: current.stopped ?? [],
    scaled: plan.scaled,
    left: plan.left,
    notes: plan.notes ?? [],
    specChanges: changes,
    layout: layoutOf(plan),
    tasks: plan.kinds.flatMap(tasksOf),
    edges: edgesOf(plan),
    later: (plan.later ?? []).flatMap(tasksOf),
    plan: withoutValues(plan),
    current: withoutImports(current),
  };
}

function withoutImports({ imports: _imports, ...current }: PlanPreview['current']): object {
  return current;
}

/** The plan without the values of variables, which may be secret. */
function withoutValues({ imports: _imports, releasing: _releasing, ...plan }: PlanPreview['plan']): object {
  const { spec } = plan;
  if (spec?.variables === undefined) return plan;
  const variables = Object.fromEntries(
    Object.entries(spec.variables).map(([name, variable]) => [
      name,
      'value' in variable ? { secret: true } : variable,
    ]),
  );
  return { ...plan, spec: { ...spec, variables } };
}

function layoutOf({ spec, scaled = {}, placements, kinds }: Plan): PlanDocument['layout'] {
  if (spec === undefined) {
    return Object.fromEntries(kinds.map(({ group, services }) => [group, { services }]));
  }
  return Object.fromEntries(
    Object.entries(spec.nodes).map(([group, { count, services }]) => {
      const [placement] = placements[group] ?? [];
      const { provider, site, flavor: hardware, image } = placement ?? {};
      return [group, { count: scaled[group]?.count ?? count, services, provider, site, hardware, image }];
    }),
  );
}

function tasksOf(kind: Kind, place: number): PlanDocument['tasks'] {
  const nodes = nodesOf(kind);
  return kind.chain.map(({ action, service, reason, after, batchSlot }, step) => ({
    id: stepId(place, step),
    purpose: kind.purpose,
    nodes,
    action,
    service,
    reason,
    after,
    batchSlot,
  }));
}

function nodesOf({ group, nodes }: Pick<Kind, 'group' | 'nodes'>): readonly string[] {
  return indexesOf(nodes).map((index) => nodeId(group, index));
}
