import { bringsToSpec } from '../intent/intent.js';
import { lockedText } from '../../cluster/locked.js';
import { replacedDrifts } from '../../cluster/repair.js';
import { nodeId } from '../../names.js';
import type { NodeState } from '../../node/state.js';
import type { PlannedFacts } from '../facts/current.js';
import type { PlanningInput } from '../context.js';
import type { Kind, Plan, Removal, RemovalPolicy, Step } from '../plan.js';
import { indexesOf } from '../ranges.js';
import { isLocked } from './machines.js';
import { PlanError, PlanRefused } from '../plan-error.js';
import { listNames } from '../intent/selection.js';

/*
 * Nothing is removed that was not named. The first plan of an operation names what it removes, and each node
 * keeps that for the time of the operation (`mayRemove`); machines must be among those that the request
 * allows to be lost, if it says which. A later plan may remove that, what a user marked for replacement, what
 * the repair policy replaces, and machines that were never confirmed. The planner refuses anything else, and
 * so does the workflow before a DELETE or REMOVE. What was never confirmed may have been in service before a
 * reset of the workflow, which the task of DELETE asks for (docs/decisions/0049-after-a-reset.md).
 */

/** All that a plan removes, now or later. */
export function removalsOf({ kinds, later = [] }: Pick<Plan, 'kinds' | 'later'>): readonly Removal[] {
  return [...kinds, ...later].flatMap((kind) => {
    const { group, nodes, purpose, chain } = kind;
    const machine =
      purpose === 'remove' || purpose === 'replace' || chain.some(({ action }) => action === 'DELETE');
    const services = machine ? [] : servicesRemovedBy(kind);
    if (!machine && services.length === 0) return [];
    return [{ group, nodes, services, ...(machine ? { machine } : {}) }];
  });
}

/** A service without REMOVE is gone after its STOP. */
function servicesRemovedBy({ chain, services }: Pick<Kind, 'chain' | 'services'>): readonly string[] {
  const removed = chain.flatMap(({ action, service = '' }) =>
    action === 'REMOVE' || (action === 'STOP' && !services.includes(service)) ? [service] : [],
  );
  return [...new Set(removed)];
}

/**
 * Refuses a plan that removes what the operation may not remove.
 * @throws PlanError
 */
export function checkRemovals(input: PlanningInput, plan: Pick<Plan, 'kinds' | 'later'>): void {
  const removals = removalsOf(plan);
  if (removals.length === 0) return;
  const factsOf = factsByNode(input);
  const locked: string[] = [];
  const unnamed: string[] = [];
  const unconfirmed: string[] = [];
  for (const { group, nodes, machine, services } of removals) {
    for (const index of indexesOf(nodes)) {
      const facts = factsOf.get(group)?.get(index);
      if (facts === undefined) continue;
      const id = nodeId(group, index);
      if (machine === true) {
        if (isUnused(facts)) continue;
        if (isLocked(input)) locked.push(id);
        else if (!mayRemoveMachine(input, facts)) unnamed.push(`the machine of ${id}`);
        else if (!mayBeLost(input, { group, index, facts })) unconfirmed.push(id);
        continue;
      }
      for (const service of services)
        if (!mayRemoveService(input, facts, service)) unnamed.push(`service ${service} of ${id}`);
    }
  }
  if (locked.length > 0)
    throw new PlanRefused(
      `${lockedText(input.spec?.name)}. This operation would remove the machines of ${listNames(locked)}`,
    );
  if (unconfirmed.length > 0)
    throw new PlanRefused(
      `it would remove the ${unconfirmed.length === 1 ? 'machine' : 'machines'} of ${listNames(unconfirmed)}, whose loss was not confirmed: the cluster has changed since the request was planned. Plan again, and confirm what is lost`,
    );
  if (unnamed.length > 0)
    throw new PlanError(
      input.again === true
        ? `it would now remove more than it listed when it started: ${listNames(unnamed)}. Cancel it; another apply lists what it removes`
        : `${input.intent.kind} removes nothing, but this plan would remove ${listNames(unnamed)}`,
    );
}

function factsByNode({ current }: PlanningInput): ReadonlyMap<string, ReadonlyMap<number, PlannedFacts>> {
  const groups = new Map<string, Map<number, PlannedFacts>>();
  for (const { group, nodes, facts } of current.nodes) {
    const rows = groups.get(group) ?? new Map<number, PlannedFacts>();
    groups.set(group, rows);
    for (const index of indexesOf(nodes)) rows.set(index, facts);
  }
  return groups;
}

function mayRemoveMachine(input: PlanningInput, facts: PlannedFacts): boolean {
  const { intent, spec, again } = input;
  if (intent.kind === 'delete' || facts.toReplace === true || facts.mayRemove?.machine === true) return true;
  if (!bringsToSpec(intent.kind)) return false;
  if (again !== true) return true;
  return facts.seen !== undefined && replacedDrifts(spec).includes(facts.seen);
}

function mayRemoveService(input: PlanningInput, facts: PlannedFacts, service: string): boolean {
  const { intent, again } = input;
  if (facts.mayRemove?.machine === true || facts.mayRemove?.services.includes(service) === true) return true;
  return again !== true && bringsToSpec(intent.kind);
}

/** A machine that is gone is lost already. */
function mayBeLost(
  { losable }: PlanningInput,
  { group, index, facts }: { readonly group: string; readonly index: number; readonly facts: PlannedFacts },
): boolean {
  if (losable === undefined || facts.toReplace === true || facts.seen === 'gone') return true;
  const ranges = Object.hasOwn(losable, group) ? (losable[group] ?? []) : [];
  return ranges.some(([first, last]) => first <= index && index <= last);
}

/** Nothing runs on it yet, and nothing ran on it in an earlier run of the cluster. */
function isUnused(facts: Pick<PlannedFacts, 'CONFIRM' | 'adopted'>): boolean {
  return isUnconfirmed(facts) && facts.adopted !== true;
}

/** A machine that was requested and never confirmed runs nothing yet. */
function isUnconfirmed({ CONFIRM: confirmed }: Pick<PlannedFacts, 'CONFIRM'>): boolean {
  return confirmed !== true;
}

/** Whether DELETE would remove a machine that was never confirmed, and that no user named. */
export function isDiscard(
  { facts }: Pick<NodeState, 'facts'>,
  { operation, automatic }: RemovalPolicy,
): boolean {
  const { mayRemove, toReplace } = facts;
  const isListed = mayRemove?.operation === operation && mayRemove.machine === true;
  return isUnconfirmed(facts) && toReplace !== true && (automatic === true || !isListed);
}

/** Why a task is refused that removes something from a node; undefined if it is not. */
export function refuseRemoval(
  { facts, keyUid, nodeId: id }: NodeState,
  { action, service = '' }: Pick<Step, 'action' | 'service'>,
  { operation, locked, replaces = [] }: RemovalPolicy,
): string | undefined {
  if (action !== 'DELETE' && action !== 'REMOVE') return undefined;
  const named = facts.mayRemove?.operation === operation ? facts.mayRemove : undefined;
  const isMachineNamed =
    named?.machine === true ||
    facts.toReplace === true ||
    (facts.seen !== undefined && replaces.includes(facts.seen));
  const what = action === 'DELETE' ? `the machine of ${id}` : `service ${service} of ${id}`;
  const unnamed = `the operation did not list ${what} when it started, so it is not removed`;
  if (action === 'REMOVE')
    return isMachineNamed || named?.services.includes(service) === true ? undefined : unnamed;
  // A machine of a previous run may hold data, whatever is known of it.
  if (isUnconfirmed(facts) && keyUid === undefined) return undefined;
  if (locked === true) return `${lockedText()}; the machine of ${id} is kept`;
  return isMachineNamed ? undefined : unnamed;
}
