import { bringsToSpec } from './intent/intent.js';
import { nodeId } from '../names.js';
import type { PlanContext, PlanningInput, Rolling } from './context.js';
import { limitToScope } from './intent/scope.js';
import { checkNodes } from './intent/selection.js';
import { replacementOf } from './machines/machines.js';
import { checkRemovals } from './machines/removals.js';
import { allOutlines, makeContext } from './make-context.js';
import { linkGates, withoutGates } from './order/gates.js';
import { runKey } from '../node/run.js';
import type { Kind, Plan } from './plan.js';
import { countOf, indexesOf } from './ranges.js';
import { PlanError } from './plan-error.js';
import { dependentsOf } from './rolling/dependents.js';
import { routerTasks, stageDrains } from './rolling/drain.js';
import { rollingOf } from './rolling/rolling.js';
import { draftExec, draftServices } from './work/draft-services.js';
import { draftReplace, draftSpec } from './work/draft-spec.js';
import { mergeKinds, type DraftKind } from './work/draft.js';

/**
 * Plans what an operation has left to do with a cluster. Pure and deterministic: planning again in the middle
 * of the operation yields exactly the remaining steps. Linear in kinds of nodes.
 * @throws PlanError if the intent names something that does not exist, or services depend on each other in a
 * circle.
 */
export function planOperation(asked: PlanningInput): Plan {
  const { spec: wanted, ...bare } = asked;
  const whole: PlanningInput = asked.intent.kind === 'delete' || wanted === undefined ? bare : asked;
  check(whole);
  const input = limitToScope(whole, allOutlines(whole));
  const { intent, spec } = input;
  const rolling = rollingOf(input);
  const working = rolling === undefined ? [] : workingButReplaced(input);
  let { context, kinds, notes, own, routing } = draftKinds(input, working);
  // A rolling plan replaces machines that still work only when nothing else is left, `width` at a time. The
  // next plan does the others: the readers of addresses are updated in between.
  if (working.length > 0 && kinds.every((kind) => kind.later === true))
    ({ context, kinds, notes, own, routing } = draftKinds(input, working.slice(rolling?.width)));
  const later = kinds.filter((kind) => kind.later === true).map(withoutGates);
  const now = linkGates(
    kinds.filter((kind) => kind.later === undefined),
    context,
  );
  checkRemovals(input, { ...now, later });
  const repeated = later.length === 0 ? 0 : Math.max(0, routing - routingTasksOf(now.kinds));
  return {
    ...(input.scope === undefined ? now : { ...now, kinds: now.kinds.map(ownServices) }),
    ...(input.scope === undefined ? {} : { left: tasksLeft(draftKinds(whole, []).own, own) }),
    placements: input.placements,
    ...(later.length === 0 ? {} : { later }),
    ...(repeated === 0 ? {} : { repeated }),
    width: rolling?.width,
    ...(rolling === undefined || isUniform(rolling) ? {} : { widths: rolling.widths }),
    ...(notes.length === 0 ? {} : { notes }),
    spec: bringsToSpec(intent.kind) ? spec : undefined,
  };
}

function check(input: PlanningInput): void {
  const { intent, spec } = input;
  const width = 'width' in intent ? intent.width : undefined;
  if (width !== undefined && (!Number.isInteger(width) || width < 1))
    throw new PlanError(`the width is ${width}, but must be a whole number of at least 1`);
  // Absence never means deletion: only delete has no spec.
  if (intent.kind !== 'delete' && spec === undefined)
    throw new PlanError(
      intent.kind === 'rollback'
        ? 'there is no previous spec to return to'
        : `the cluster has no spec${intent.kind === 'apply' ? '' : '; apply a file first'}`,
    );
  if (intent.kind === 'replace') checkNodes(input, intent.nodes);
}

/** Working machines that must be replaced. */
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

interface Drafts {
  readonly context: PlanContext;
  readonly kinds: readonly DraftKind[];
  readonly notes: readonly string[];
  /** Without tasks of dependents, and of routers around batches of what they route to. */
  readonly own: readonly DraftKind[];
  /** Tasks of routers around all batches. */
  readonly routing: number;
}

/** Drafts twice where services stop that others need: once to see which, once with those that follow. */
function draftKinds(input: PlanningInput, postponed: readonly string[]): Drafts {
  const alone = makeContext(input, new Set(postponed));
  const without = draftsOf(alone);
  const { following, notes } = dependentsOf(alone, without);
  const context = { ...alone, following };
  const drafts = following.size === 0 ? without : draftsOf(context);
  const merged = mergeKinds(drafts);
  const kinds = stageDrains(context, merged);
  return { context, kinds, notes, own: without, routing: routerTasks(context, merged) };
}

function routingTasksOf(kinds: readonly Kind[]): number {
  return kinds.reduce(
    (sum, { nodes, chain }) =>
      sum + countOf(nodes) * chain.filter(({ without }) => without !== undefined).length,
    0,
  );
}

/** How many tasks of the whole spec a part of it does not do; the part may repeat others. */
function tasksLeft(whole: readonly DraftKind[], part: readonly DraftKind[]): number {
  const done = new Map<string, number>();
  for (const task of tasksOf(part)) done.set(task, (done.get(task) ?? 0) + 1);
  let left = 0;
  for (const task of tasksOf(whole)) {
    const count = done.get(task) ?? 0;
    if (count === 0) left += 1;
    else done.set(task, count - 1);
  }
  return left;
}

function* tasksOf(kinds: readonly DraftKind[]): Generator<string> {
  for (const { group, nodes, chain } of kinds)
    for (const index of indexesOf(nodes))
      for (const { action, service } of chain) yield `${nodeId(group, index)}/${runKey({ action, service })}`;
}

/** Nodes of one group differ in their services while a part of the spec is applied. */
function ownServices(kind: Kind): Kind {
  return { ...kind, ownServices: true };
}

function isUniform({ width, widths }: Rolling): boolean {
  return Object.values(widths).every((other) => other === width);
}

function draftsOf(context: PlanContext): readonly DraftKind[] {
  const { intent } = context;
  switch (intent.kind) {
    case 'apply':
    case 'rollback':
    case 'scale':
    case 'delete':
      return draftSpec(context);
    case 'replace':
      return draftReplace(context, intent.nodes);
    case 'start':
    case 'stop':
    case 'restart':
    case 'reconfigure':
      return draftServices(context, intent);
    case 'exec':
      return draftExec(context, intent);
  }
}
