import type { Action } from '../../action.js';
import type { Purpose, Step } from '../plan.js';
import { indexesOf, rangesOf, type Range } from '../ranges.js';

/**
 * `up`: what makes the spec true; `first`: the same in a rolling plan, where the service does not run;
 * `replace`: tear-down before it; `down`: tear-down after it; `drain` and `undrain`: what routers of a
 * service do before and after a batch of it.
 */
export type PlanPhase = 'up' | 'first' | 'replace' | 'down' | 'drain' | 'undrain';

/** A step before it is known which gates there are. */
export interface DraftStep extends Omit<Step, 'after' | 'counts'> {
  readonly phase: PlanPhase;
  readonly action: Action;
}

export interface DraftKind {
  readonly group: string;
  readonly purpose: Purpose;
  readonly nodes: readonly Range[];
  readonly chain: readonly DraftStep[];
  readonly services: readonly string[];
  /** Postponed: the operation is planned again before this part would start. */
  readonly later?: true;
}

export interface Drafting extends Omit<DraftKind, 'nodes'> {
  readonly indexes: readonly number[];
}

export function draft({ indexes, ...kind }: Drafting): readonly DraftKind[] {
  return indexes.length === 0 ? [] : [{ ...kind, nodes: rangesOf(indexes) }];
}

/** Gives the first step the reason for the whole chain. */
export function because(chain: readonly DraftStep[], reason: string): readonly DraftStep[] {
  return chain.map((step, index) => (index === 0 ? { ...step, reason } : step));
}

/** Kinds that do the same become one; kinds with nothing to do are left out. */
export function mergeKinds(kinds: readonly DraftKind[]): readonly DraftKind[] {
  const merged = new Map<string, { readonly kind: DraftKind; readonly indexes: number[] }>();
  for (const kind of kinds) {
    if (kind.chain.length === 0 && kind.purpose !== 'remove') continue;
    const key = JSON.stringify([kind.group, kind.purpose, kind.later ?? false, kind.services, kind.chain]);
    const same = merged.get(key) ?? { kind, indexes: [] };
    for (const index of indexesOf(kind.nodes)) same.indexes.push(index);
    merged.set(key, same);
  }
  return [...merged.values()].map(({ kind, indexes }) => ({
    ...kind,
    nodes: rangesOf(indexes.toSorted((a, b) => a - b)),
  }));
}
