import { bringsToSpec } from '../plan/intent/intent.js';
import type { Drift } from '../node/drift.js';
import { countOf } from '../plan/ranges.js';
import { defaultRepair } from './default-repair.js';
import type { RemovalPolicy } from '../plan/plan.js';
import type { ClusterSpec } from './spec.js';
import type { ClusterState } from './state.js';

/** How often one operation replaces lost machines. */
const repairsOfOperation = 3;

/** The drift for which the spec's `repair` replaces a machine; a locked cluster keeps its machines. */
export function replacedDrifts(spec: Pick<ClusterSpec, 'repair' | 'lock'> | undefined): readonly Drift[] {
  if (spec?.lock === true) return [];
  const entries = Object.entries(spec?.repair ?? defaultRepair) as readonly (readonly [Drift, string])[];
  return entries.flatMap(([drift, policy]) => (policy === 'replace' ? [drift] : []));
}

/** What every workflow of the cluster knows when the operation under way removes something. */
export function removalPolicy({
  spec,
  operation,
}: Pick<ClusterState, 'spec' | 'operation'>): Omit<RemovalPolicy, 'operation'> {
  return {
    replaces: replacedDrifts(spec),
    ...(spec?.lock === true ? { locked: true } : {}),
    ...(operation?.cause === undefined ? {} : { automatic: true }),
  };
}

/** Whether the running operation replaces a lost machine, as the spec's `repair` allows. */
export function replacesLost(
  { spec, operation }: Pick<ClusterState, 'spec' | 'operation'>,
  seen: Drift | undefined,
): boolean {
  const { kind, repairs = 0 } = operation ?? {};
  const isRepairing = bringsToSpec(kind) && repairs < repairsOfOperation;
  return isRepairing && seen !== undefined && replacedDrifts(spec).includes(seen);
}

/** Whether all nodes that hold the operation lost machines that it replaces. */
export function holdsForRepairOnly(state: ClusterState): boolean {
  const holding = Object.values(state.nodes).filter(
    ({ failure, excluded }) => failure !== undefined && excluded === undefined,
  );
  const groups = Object.values(state.groups).filter(({ failed }) => failed > 0);
  if (holding.length + groups.length === 0) return false;
  return (
    holding.every(({ failure }) => replacesLost(state, failure?.lost?.seen)) &&
    groups.every(({ failed, rows }) => {
      const lost = rows.filter(({ facts }) => replacesLost(state, facts.seen));
      return lost.reduce((sum, { nodes }) => sum + countOf(nodes), 0) >= failed;
    })
  );
}
