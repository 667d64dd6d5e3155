import { newValueTable, shareValues, spreadValues, type SharedRows } from '../shared-values.js';
import type { CurrentCluster, NodeSummary } from './facts/current.js';
import type { Kind, ServedPlan, Step } from './plan.js';

/*
 * Groups with the same services have mostly the same steps and the same facts. In messages and in carried
 * state these are stated once, so that the size follows what is different, not the number of groups.
 */

export interface PackedKinds {
  readonly kinds: readonly (Omit<Kind, 'chain'> & {
    /** Indexes of `steps`. */
    readonly chain: readonly number[];
  })[];
  readonly steps: readonly (Omit<Step, 'after'> & {
    /** Index of `waits`. */
    readonly after?: number;
  })[];
  readonly waits: readonly (readonly string[])[];
}

export function packKinds(kinds: readonly Kind[]): PackedKinds {
  const steps = newValueTable<Step>();
  const waits = newValueTable<readonly string[]>();
  const packed = kinds.map(({ chain, ...kind }) => ({ ...kind, chain: chain.map(steps.indexOf) }));
  return {
    kinds: packed,
    steps: steps.values.map(({ after, ...step }) =>
      after === undefined ? step : { ...step, after: waits.indexOf(after) },
    ),
    waits: waits.values,
  };
}

export function unpackKinds({ kinds, steps, waits }: PackedKinds): readonly Kind[] {
  const unpacked = steps.map(({ after, ...step }): Step =>
    after === undefined ? step : { ...step, after: waits[after] },
  );
  return kinds.map(({ chain, ...kind }) => ({
    ...kind,
    chain: chain.flatMap((index) => unpacked[index] ?? []),
  }));
}

export type PackedPlan = Omit<ServedPlan, 'kinds' | 'later'> & {
  readonly kinds: PackedKinds;
  readonly later?: PackedKinds;
};

export function packPlan({ kinds, later, ...plan }: ServedPlan): PackedPlan {
  return { ...plan, kinds: packKinds(kinds), ...(later === undefined ? {} : { later: packKinds(later) }) };
}

export function unpackPlan({ kinds, later, ...plan }: PackedPlan): ServedPlan {
  return {
    ...plan,
    kinds: unpackKinds(kinds),
    ...(later === undefined ? {} : { later: unpackKinds(later) }),
  };
}

export type PackedCurrent = Omit<CurrentCluster, 'nodes'> & {
  readonly nodes: SharedRows<NodeSummary, 'facts'>;
};

export function packCurrent({ nodes, ...current }: CurrentCluster): PackedCurrent {
  return { ...current, nodes: shareValues(nodes, 'facts') };
}

export function unpackCurrent({ nodes, ...current }: PackedCurrent): CurrentCluster {
  return { ...current, nodes: spreadValues<NodeSummary, 'facts'>(nodes, 'facts') };
}
