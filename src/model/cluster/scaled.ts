import type { Intent, IntentOf } from '../plan/intent/intent.js';
import type { ClusterSpec } from './spec.js';

/**
 * Counts of groups that users set by `scale`: they take the place of those in the file, until the file has
 * the same.
 */
export type Counts = Readonly<Record<string, number>>;

/** The counts after a scale was accepted. */
function withScale(scaled: Counts, { counts }: Pick<IntentOf<'scale'>, 'counts'>): Counts {
  const all = Object.entries({ ...scaled, ...counts });
  return Object.fromEntries(all.flatMap(([group, count]) => (count === null ? [] : [[group, count]])));
}

/** The counts that an operation is planned with; those of a scale are not recorded before it begins. */
export function plannedCounts(intent: Intent, { scaled = {}, scaledBefore = scaled }: KnownCounts): Counts {
  if (intent.kind === 'rollback' && intent.revision === undefined) return scaledBefore;
  return intent.kind === 'scale' ? withScale(scaled, intent) : scaled;
}

interface KnownCounts {
  readonly scaled?: Counts | undefined;
  /** The counts that a rollback to the previous spec restores, if they differ. */
  readonly scaledBefore?: Counts | undefined;
}

/** What the cluster should be: its file, with the counts that users set. */
export function withCounts(spec: ClusterSpec, counts: Counts): ClusterSpec {
  const differing = Object.entries(differingCounts(spec, counts));
  if (differing.length === 0) return spec;
  const groups = differing.flatMap(([group, count]) => {
    const own = spec.nodes[group];
    return own === undefined ? [] : [[group, { ...own, count }] as const];
  });
  return { ...spec, nodes: { ...spec.nodes, ...Object.fromEntries(groups) } };
}

/** The counts that still differ from the file. */
export function differingCounts({ nodes }: Pick<ClusterSpec, 'nodes'>, counts: Counts): Counts {
  return Object.fromEntries(
    Object.entries(counts).filter(
      ([group, count]) => Object.hasOwn(nodes, group) && nodes[group]?.count !== count,
    ),
  );
}

/** The same with the counts of the file, for people. */
export function describedCounts(
  { nodes }: Pick<ClusterSpec, 'nodes'>,
  counts: Counts,
): Readonly<Record<string, ScaledCount>> {
  return Object.fromEntries(
    Object.entries(differingCounts({ nodes }, counts)).map(([group, count]) => [
      group,
      { count, file: nodes[group]?.count ?? 0 },
    ]),
  );
}

/** The count that a plan gives a group. */
export function plannedCount(
  {
    spec,
    scaled = {},
  }: {
    readonly spec?: Pick<ClusterSpec, 'nodes'>;
    readonly scaled?: Readonly<Record<string, ScaledCount>> | undefined;
  },
  group: string,
): number {
  const set = Object.hasOwn(scaled, group) ? scaled[group] : undefined;
  const own = spec !== undefined && Object.hasOwn(spec.nodes, group) ? spec.nodes[group] : undefined;
  return set?.count ?? own?.count ?? 0;
}

export interface ScaledCount {
  readonly count: number;
  /** The count in the file. */
  readonly file: number;
}
