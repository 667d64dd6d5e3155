import { accountRef } from '../node/assigned-machine.js';
import type { Json } from '../json.js';
import type { AccountRef } from '../node/probe.js';
import type { Action } from '../action.js';
import type { Placement } from '../node/placement.js';
import { groupOfNode, readMachineKey } from '../names.js';
import type { Kind, ServedPlan } from '../plan/plan.js';
import { countOf, type Range } from '../plan/ranges.js';
import { plannedCount } from './scaled.js';
import type { ClusterSpec } from './spec.js';

/** Keys and indexes from the top of a spec to a place in it. */
type Path = readonly (string | number)[];

/** Input of CHECK_PLACEMENT: where the nodes of a group come from, and what their site is to know. */
export interface PlacementCheck {
  /** The cluster's name. */
  readonly clusterId: string;
  /** Absent for a cluster that does not exist yet. */
  readonly clusterUid?: string;
  readonly provider: AccountRef;
  /** Of the group, or of its alternative. */
  readonly path: Path;
  /** Present if it makes machines. */
  readonly creates?: NeededMachines;
  readonly flavor: string;
  /** Absent where an image of the library is used. */
  readonly image?: string;
  /** Values with secret references that workers of the site are to resolve. */
  readonly values: readonly { readonly path: Path; readonly value: Json }[];
}

/**
 * How many more machines the groups of a plan need that can have them nowhere else, and that may lack none. 0
 * for another group.
 */
export interface NeededMachines {
  /** Of the account. */
  readonly all: number;
  /** Of the account, with the same flavor and image. */
  readonly ofKind: number;
  /** The nodes of the account that get a machine, by group. */
  readonly nodes: Readonly<Record<string, readonly Range[]>>;
}

export interface PlacementProblem {
  readonly severity: 'error';
  readonly path: Path;
  readonly wrong: string;
  readonly right?: string;
}

/** Checks for the sites of a plan, by the groups that it works on. */
export function placementChecks(
  { clusterId, clusterUid }: Pick<PlacementCheck, 'clusterId' | 'clusterUid'>,
  { spec, kinds, placements, scaled }: ServedPlan,
): readonly { readonly site: string; readonly check: PlacementCheck }[] {
  if (spec === undefined) return [];
  const busy = new Set(kinds.filter(({ chain }) => chain.length > 0).map(({ group }) => group));
  const needed = neededBy({ spec, kinds, placements, ...(scaled === undefined ? {} : { scaled }) });
  const checks = [...busy].flatMap((group) =>
    (placements[group] ?? []).map((placement, index) => ({
      site: placement.site,
      check: {
        clusterId,
        ...(clusterUid === undefined ? {} : { clusterUid }),
        provider: accountRef(placement),
        path: ['nodes', group, ...(index === 0 ? [] : ['alternatives', index - 1])],
        ...(needed(group) ?? {}),
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

/**
 * Whether a machine's key is that of a node that a plan creates: its CREATE was sent before and did not end,
 * so it gets the same machine again.
 */
export function isKeyOfCreated(
  { clusterUid, creates }: Pick<PlacementCheck, 'clusterUid' | 'creates'>,
  key: string,
): boolean {
  const machine = readMachineKey(key);
  if (machine === undefined || machine.clusterUid !== clusterUid) return false;
  const group = groupOfNode(machine.nodeId);
  const index = Number(machine.nodeId.slice(group.length + 1));
  return creates?.nodes[group]?.some(([first, last]) => first <= index && index <= last) === true;
}

/**
 * A replaced node releases its machine before its CREATE, so it needs no free one. Machines of other nodes
 * that a plan deletes do not count: no CREATE waits for a DELETE of another node, and removed nodes even wait
 * until others read the new addresses.
 */
function neededBy({
  spec,
  kinds,
  placements,
  scaled,
}: Pick<ServedPlan, 'kinds' | 'placements' | 'scaled'> & { readonly spec: ClusterSpec }): (
  group: string,
) => { readonly creates: NeededMachines } | undefined {
  const has = (action: Action, { chain }: Kind): boolean => chain.some((step) => step.action === action);
  const groups = new Set(kinds.filter((kind) => has('CREATE', kind)).map(({ group }) => group));
  const needs = [...groups].flatMap((group) => {
    const count = plannedCount({ spec, scaled }, group);
    const { minimum = count } = spec.nodes[group] ?? {};
    const [placement, ...alternatives] = placements[group] ?? [];
    if (placement === undefined || alternatives.length > 0 || spec.onFailure === 'continue') return [];
    const nodes = kinds
      .filter((kind) => kind.group === group && has('CREATE', kind) && !has('DELETE', kind))
      .flatMap((kind) => kind.nodes);
    return [{ group, placement, nodes, needed: Math.max(0, countOf(nodes) - (count - minimum)) }];
  });
  return (group) => {
    if (!groups.has(group)) return undefined;
    const own = needs.find((need) => need.group === group)?.placement;
    const sum = (isMeant: (other: Placement) => boolean): number =>
      needs.reduce((all, { placement, needed }) => all + (isMeant(placement) ? needed : 0), 0);
    const isSame = ({ provider }: Placement): boolean => provider === own?.provider;
    const isSameKind = (other: Placement): boolean =>
      isSame(other) && other.flavor === own?.flavor && other.image === own.image;
    const nodes = Object.fromEntries(
      needs.filter(({ placement }) => isSame(placement)).map((need) => [need.group, need.nodes]),
    );
    return { creates: { all: sum(isSame), ofKind: sum(isSameKind), nodes } };
  };
}

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
