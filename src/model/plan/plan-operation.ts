import type { PlanningInput } from './current.js';
import { desiredServices, type Desired } from './desired.js';
import { mergeKinds, type DraftKind } from './draft.js';
import { linkGates, withoutGates } from './gates.js';
import { replacementOf } from './machines.js';
import { nodeId } from '../names.js';
import { indexesOf, type Plan } from './plan.js';
import { PlanError } from './plan-error.js';
import { draftReplace, draftSpec } from './plan-spec.js';
import { draftExec, draftServices } from './plan-switch.js';
import { checkNodes } from './selection.js';

export { emptyCluster, type CurrentCluster, type NodeSummary, type PlanningInput } from './current.js';
export { outlineOf, outlinesOf } from './desired.js';
export { PlanError } from './plan-error.js';

/**
 * Plans what an operation has left to do with a cluster. Pure and deterministic: made again in the middle of
 * the operation, it holds exactly what is left. Linear in kinds of nodes.
 * @throws PlanError when what is asked for is not there, or services wait for each other in a circle.
 */
export function planOperation(asked: PlanningInput): Plan {
  const { spec: wanted, ...bare } = asked;
  const input: PlanningInput = asked.intent.kind === 'delete' || wanted === undefined ? bare : asked;
  check(input);
  const { desired, kinds } = draftRound(input);
  const later = kinds.filter((kind) => kind.later === true).map(withoutGates);
  const { intent, spec } = input;
  return {
    ...linkGates(
      kinds.filter((kind) => kind.later === undefined),
      desired,
    ),
    placements: input.placements,
    ...(later.length === 0 ? {} : { later }),
    ...(desired.width === undefined ? {} : { width: desired.width }),
    ...(spec !== undefined && (intent.kind === 'apply' || intent.kind === 'rollback') ? { spec } : {}),
  };
}

function check(input: PlanningInput): void {
  const { intent, spec } = input;
  const width = 'width' in intent ? intent.width : undefined;
  if (width !== undefined && (!Number.isInteger(width) || width < 1))
    throw new PlanError(`the width is ${width}; give a whole number of at least 1`);
  if (intent.kind === 'apply' && spec === undefined) throw new PlanError('there is no spec to apply');
  if (intent.kind === 'replace') checkNodes(input, intent.nodes);
}

interface Round {
  readonly desired: Desired;
  readonly kinds: readonly DraftKind[];
}

/**
 * A rolling plan replaces machines that still work when nothing else is left to do, so many at once, and
 * leaves the others to the next plan: between two of them the readers of addresses must be updated, which no
 * single plan can say.
 */
function draftRound(input: PlanningInput): Round {
  const width = 'width' in input.intent ? input.intent.width : undefined;
  const working = width === undefined ? [] : workingButReplaced(input);
  const all = draftKinds(input, working);
  if (working.length === 0 || all.kinds.some((kind) => kind.later === undefined)) return all;
  return draftKinds(input, working.slice(width));
}

function workingButReplaced(input: PlanningInput): readonly string[] {
  const { intent, current, spec } = input;
  return current.nodes.flatMap((summary) => {
    const { group } = summary;
    if (replacementOf(input, summary)?.answers !== true) return [];
    const ids = indexesOf(summary.nodes)
      .filter((index) => index <= (spec?.nodes[group]?.count ?? 0))
      .map((index) => nodeId(group, index));
    return intent.kind === 'replace' ? ids.filter((id) => intent.nodes.includes(id)) : ids;
  });
}

function draftKinds(input: PlanningInput, postponed: readonly string[]): Round {
  const desired = desiredServices(input, new Set(postponed));
  return { desired, kinds: mergeKinds(draftsOf(input, desired)) };
}

function draftsOf(input: PlanningInput, desired: Desired): readonly DraftKind[] {
  const { intent } = input;
  switch (intent.kind) {
    case 'apply':
    case 'rollback':
    case 'delete':
      return draftSpec(input, desired);
    case 'replace':
      return draftReplace(input, desired, intent.nodes);
    case 'start':
    case 'stop':
    case 'restart':
    case 'reconfigure':
      return draftServices(input, desired, intent);
    case 'exec':
      return draftExec(input, desired, intent);
  }
}
