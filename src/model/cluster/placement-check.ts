import { accountRef } from '../node/assigned-machine.js';
import type { Json } from '../json.js';
import type { AccountRef } from '../node/probe.js';
import type { ServedPlan } from '../plan/plan.js';
import type { ClusterSpec } from './spec.js';

/** Keys and indexes from the top of a spec to a place in it. */
type Path = readonly (string | number)[];

/** Input of CHECK_PLACEMENT: where the nodes of a group come from, and what their site is to know. */
export interface PlacementCheck {
  /** The cluster's name. */
  readonly clusterId: string;
  readonly provider: AccountRef;
  /** Of the group, or of its alternative. */
  readonly path: Path;
  readonly flavor: string;
  /** Absent where an image of the library is used. */
  readonly image?: string;
  /** Values with secret references that workers of the site are to resolve. */
  readonly values: readonly { readonly path: Path; readonly value: Json }[];
}

export interface PlacementProblem {
  readonly severity: 'error';
  readonly path: Path;
  readonly wrong: string;
  readonly right?: string;
}

/** Checks for the sites of a plan, by the groups that it works on. */
export function placementChecks(
  clusterId: string,
  { spec, kinds, placements }: ServedPlan,
): readonly { readonly site: string; readonly check: PlacementCheck }[] {
  if (spec === undefined) return [];
  const busy = new Set(kinds.filter(({ chain }) => chain.length > 0).map(({ group }) => group));
  const checks = [...busy].flatMap((group) =>
    (placements[group] ?? []).map((placement, index) => ({
      site: placement.site,
      check: {
        clusterId,
        provider: accountRef(placement),
        path: ['nodes', group, ...(index === 0 ? [] : ['alternatives', index - 1])],
        flavor: placement.flavor,
        image: placement.image,
        values: valuesOf(spec, group),
      },
    })),
  );
  return checks.slice(0, maxChecks);
}

/** Of a plan; the rest shows when it is carried out. */
const maxChecks = 100;

function valuesOf(spec: ClusterSpec, group: string): PlacementCheck['values'] {
  const actions = (spec.nodes[group]?.services ?? []).flatMap((service) =>
    Object.entries(spec.services[service]?.actions ?? {}).map(([action, { fields }]) => ({
      path: ['services', service, 'actions', action, 'fields'],
      value: fields as Json,
    })),
  );
  const variables = Object.entries(spec.variables ?? {}).flatMap(([name, variable]) =>
    'value' in variable ? [{ path: ['variables', name], value: variable.value }] : [],
  );
  return [...actions, ...variables];
}
