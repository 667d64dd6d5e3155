import type { Drift } from '../../../model/node/drift.js';
import type { CurrentCluster } from '../../../model/plan/facts/current.js';
import type { Plan } from '../../../model/plan/plan.js';
import { indexesOf, type Range, rangesOf } from '../../../model/plan/ranges.js';
import { busyKinds } from './changes.js';
import { describeNodes } from './plan-text.js';

/** Drifted machines, and what the plan does about them. */
export interface DriftView {
  readonly group: string;
  readonly nodes: readonly Range[];
  readonly seen: Drift;
  readonly then: string;
}

const found: Readonly<Record<Drift, readonly [one: string, several: string]>> = {
  gone: ['its machine is gone', 'their machines are gone'],
  stopped: ['its machine is switched off', 'their machines are switched off'],
  rebooted: ['its machine was rebooted', 'their machines were rebooted'],
  moved: ['its machine has another address', 'their machines have other addresses'],
  unreachable: ['its machine does not answer', 'their machines do not answer'],
};

/** Nodes of one group with the same drift and the same remedy. */
export function driftOf(current: CurrentCluster, plan: Plan): readonly DriftView[] {
  const views = new Map<string, { readonly view: Omit<DriftView, 'nodes'>; readonly indexes: number[] }>();
  for (const {
    group,
    nodes,
    facts: { seen },
  } of current.nodes) {
    if (seen === undefined) continue;
    for (const index of indexesOf(nodes)) {
      const then = remedyFor(plan, group, index);
      const key = `${group} ${seen} ${then}`;
      const same = views.get(key) ?? { view: { group, seen, then }, indexes: [] };
      same.indexes.push(index);
      views.set(key, same);
    }
  }
  return [...views.values()].map(({ view, indexes }) => ({
    ...view,
    nodes: rangesOf(indexes.toSorted((a, b) => a - b)),
  }));
}

/** `app-2: its machine is gone; replaced by a new one`. */
export function describeDrift(drift: DriftView): string {
  const [one, several] = found[drift.seen];
  return `${describeNodes(drift)}: ${indexesOf(drift.nodes).length === 1 ? one : several}; ${drift.then}`;
}

function remedyFor(plan: Plan, group: string, index: number): string {
  const kind = busyKinds(plan).find(
    (other) => other.group === group && other.nodes.some(([first, last]) => first <= index && index <= last),
  );
  if (kind === undefined) return 'no action';
  if (kind.purpose === 'replace') return 'replaced by a new one';
  if (kind.purpose === 'remove') return 'removed';
  if (kind.chain.some(({ action }) => action === 'CREATE')) return 'a new one is created';
  const starts = kind.chain.some(({ action }) => action === 'START');
  if (kind.chain.some(({ action }) => action === 'CONFIRM'))
    return starts ? 'confirmed again, then its services are started' : 'confirmed again';
  return 'no action';
}
