import type { Action } from '../../../model/action.js';
import { plannedCount } from '../../../model/cluster/scaled.js';
import type { Kind, Plan, Purpose, Step } from '../../../model/plan/plan.js';
import { indexesOf, rangesOf, type Range } from '../../../model/plan/ranges.js';

/** What a plan does on some nodes of a group, now and later. */
export interface NodeChange {
  readonly group: string;
  readonly nodes: readonly Range[];
  readonly purpose: Purpose;
  /** Of a replacement. */
  readonly reason?: string;
  readonly creates: boolean;
  readonly parts: readonly PartChange[];
}

/** The actions of one service, or of the machine itself. */
export interface PartChange {
  readonly service?: string;
  readonly actions: readonly Action[];
  readonly reasons: readonly string[];
}

/** A node whose machine is replaced may also have other tasks in the same plan. */
const byWeight: readonly Purpose[] = ['replace', 'create', 'remove', 'exec', 'update'];

/** Nodes that do the same in all parts of a plan are together. */
export function changesOf(plan: Plan): readonly NodeChange[] {
  const merged = new Map<
    string,
    { readonly change: Omit<NodeChange, 'nodes'>; readonly indexes: number[] }
  >();
  for (const { group, kinds, indexes } of sameKinds(busyKinds(plan))) {
    const change = changeOf(plan, group, kinds);
    const key = JSON.stringify(change);
    const same = merged.get(key) ?? { change, indexes: [] };
    merged.set(key, same);
    for (const index of indexes) same.indexes.push(index);
  }
  return [...merged.values()].map(({ change, indexes }) => ({
    ...change,
    nodes: rangesOf(indexes.toSorted((a, b) => a - b)),
  }));
}

interface SameKinds {
  readonly group: string;
  readonly kinds: readonly Kind[];
  readonly indexes: number[];
}

/** Nodes of a group that are in the same kinds. */
function sameKinds(kinds: readonly Kind[]): readonly SameKinds[] {
  const kindsOfNodes = new Map<string, Map<number, number[]>>();
  kinds.forEach(({ group, nodes }, place) => {
    const known = kindsOfNodes.get(group) ?? new Map<number, number[]>();
    kindsOfNodes.set(group, known);
    for (const index of indexesOf(nodes)) known.set(index, [...(known.get(index) ?? []), place]);
  });
  const same = new Map<string, SameKinds>();
  for (const [group, nodes] of kindsOfNodes) {
    for (const [index, places] of nodes) {
      // Places are of one group.
      const key = places.join();
      const found = same.get(key) ?? {
        group,
        kinds: places.flatMap((place) => kinds[place] ?? []),
        indexes: [],
      };
      same.set(key, found);
      found.indexes.push(index);
    }
  }
  return [...same.values()];
}

/** Every kind with steps, including those left to a later plan. */
export function busyKinds({ kinds, later = [] }: Plan): readonly Kind[] {
  return [...kinds, ...later].filter(({ chain }) => chain.length > 0);
}

function changeOf(plan: Plan, group: string, kinds: readonly Kind[]): Omit<NodeChange, 'nodes'> {
  const purpose = byWeight.find((one) => kinds.some((kind) => kind.purpose === one)) ?? 'update';
  const chain = kinds.flatMap((kind) => kind.chain);
  const services = [...new Set(chain.map(({ service }) => service))].toSorted(
    (a, b) => Number(a !== undefined) - Number(b !== undefined),
  );
  // What happens to the machine is the purpose itself, except for what is repeated on one that stays.
  const shown = services.filter((service) => service !== undefined || purpose === 'update');
  const replacing = kinds.find((kind) => kind.purpose === 'replace');
  const reason = replacing === undefined ? reasonToRemove(plan, group, purpose) : replacing.chain[0]?.reason;
  return {
    group,
    purpose,
    ...(reason === undefined ? {} : { reason }),
    creates: chain.some(({ action }) => action === 'CREATE'),
    parts: shown.map((service) => partOf(purpose, service, chain, kinds)),
  };
}

function reasonToRemove(plan: Plan, group: string, purpose: Purpose): string | undefined {
  if (purpose !== 'remove' || plan.spec === undefined) return undefined;
  return Object.hasOwn(plan.spec.nodes, group)
    ? `the count of ${group} is ${plannedCount(plan, group)}`
    : `the spec no longer has ${group}`;
}

function partOf(
  purpose: Purpose,
  service: string | undefined,
  chain: readonly Step[],
  kinds: readonly Kind[],
): PartChange {
  const steps = chain.filter((step) => step.service === service);
  const actions = [...new Set(steps.map(({ action }) => action))];
  const reasons = new Set(steps.flatMap((step) => (purpose === 'replace' ? [] : reasonOf(step))));
  const stays = kinds.some(({ services }) => service === undefined || services.includes(service));
  const otherwise = purpose === 'update' && reasons.size === 0 ? [reasonOfFirst(actions, stays)] : [];
  return { ...(service === undefined ? {} : { service }), actions, reasons: [...reasons, ...otherwise] };
}

/** Batches differ in the nodes that they leave out. */
function reasonOf({ reason, without }: Step): readonly string[] {
  if (without !== undefined) return ['drains nodes while they change'];
  return reason === undefined ? [] : [reason];
}

/** The planner gives reasons for what is repeated only. */
function reasonOfFirst(actions: readonly Action[], stays: boolean): string {
  if (!stays) return 'the spec no longer has it there';
  return actions.includes('INSTALL') ? 'new' : 'not done yet';
}
