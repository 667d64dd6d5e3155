import type { Action } from '../action.js';
import { nodeId } from '../names.js';
import type { Membership, PlanContext, PlanningInput } from './context.js';
import type { NodeSummary } from './facts/current.js';
import { digestsOf } from './facts/digest.js';
import { isTouched, servicesAfter } from './intent/scope.js';
import { missingNodes, replacementOf, splitByCount } from './machines/machines.js';
import { outlinesOf, withDependents, type Outlines, type ServiceOutline } from './order/dependencies.js';
import { downOrder, rollingOrder, upOrder } from './order/order.js';
import { indexesOf } from './ranges.js';
import { rollingOf } from './rolling/rolling.js';

/** Every service that the spec names or that some node has. */
export function allOutlines({ current, spec }: PlanningInput): Outlines {
  return { ...current.services, ...outlinesOf(spec?.services ?? {}) };
}

/**
 * @param postponed ids of nodes whose replacement is left to a later plan of the same operation
 * @throws PlanError when services wait for each other in a circle.
 */
export function makeContext(input: PlanningInput, postponed: ReadonlySet<string>): PlanContext {
  const { intent, spec, current } = input;
  const outlines = allOutlines(input);
  const digests = Object.fromEntries(
    Object.entries(spec?.services ?? {}).map(([name, service]) => [
      name,
      digestsOf(service, spec?.config ?? {}, input.digest),
    ]),
  );
  const rolling = rollingOf(input);
  const stopped = intent.kind === 'start' || intent.kind === 'stop' ? [] : (current.stopped ?? []);
  const held = new Set(withDependents(outlines, stopped));
  const drains = Object.fromEntries(
    Object.entries(spec?.services ?? {}).flatMap(([name, service]) => {
      const { drain = [] } = service.rolling ?? {};
      return drain.length === 0 ? [] : [[name, drain] as const];
    }),
  );
  const together = new Set(
    Object.keys(outlines).filter((name) => held.has(name) || rolling?.widths[name] === undefined),
  );
  return {
    ...input,
    outlines,
    digests,
    held,
    postponed,
    following: new Map(),
    deleting: intent.kind === 'delete',
    up: rolling === undefined ? upOrder(outlines) : rollingOrder(outlines, together),
    down: downOrder(outlines),
    membership:
      intent.kind === 'replace'
        ? replacedMembership(input, intent.nodes, postponed)
        : changedMembership(input, { outlines, held, postponed }),
    drains,
    routers: new Set(Object.values(drains).flat()),
    ...(rolling === undefined ? {} : { rolling }),
  };
}

function changedMembership(
  input: PlanningInput,
  { outlines, held, postponed }: Pick<PlanContext, 'outlines' | 'held' | 'postponed'>,
): Membership {
  const services = new Set<string>();
  let any = false;
  const note = (names: readonly string[]): void => {
    any = true;
    for (const name of names) services.add(name);
  };
  for (const summary of input.current.nodes) {
    const wanted = servicesAfter(input, summary);
    const present = Object.keys(summary.facts.services);
    const { staying, leaving } = splitByCount(input, summary);
    if (leaving.length > 0) note(present);
    if (staying.length === 0) continue;
    if (replacementOf(input, summary) !== undefined) {
      if (staying.some((index) => !postponed.has(nodeId(summary.group, index))))
        note([...wanted, ...present]);
      continue;
    }
    if (getsAddress(input, summary)) note(wanted);
    const joins = wanted.filter(
      (name) => !present.includes(name) && leavesFacts(outlines[name], held.has(name)),
    );
    if (joins.length > 0 || present.some((name) => !wanted.includes(name))) note([...wanted, ...present]);
  }
  for (const missing of missingNodes(input)) note(servicesAfter(input, missing));
  return { services, any };
}

/** A replacement leaves all nodes alone but those it names. */
function replacedMembership(
  input: PlanningInput,
  named: readonly string[],
  postponed: ReadonlySet<string>,
): Membership {
  const services = new Set<string>();
  let any = false;
  for (const summary of input.current.nodes) {
    const { group, facts, nodes } = summary;
    if (facts.CONFIRM === true && facts.toReplace === undefined) continue;
    const ids = indexesOf(nodes).map((index) => nodeId(group, index));
    if (!ids.some((id) => named.includes(id) && !postponed.has(id))) continue;
    any = true;
    for (const name of input.spec?.nodes[group]?.services ?? []) services.add(name);
  }
  return { services, any };
}

/** The nodes will have an address, or another one, at the end of this plan. */
function getsAddress(input: PlanningInput, summary: NodeSummary): boolean {
  const { facts } = summary;
  if (!isTouched(input, summary)) return false;
  return facts.CONFIRM === undefined || (facts.seen === 'moved' && input.spec?.repair.moved === 'confirm');
}

/**
 * A service without such an action is on a node and the node's facts do not show it. One that stays
 * down is not started.
 */
function leavesFacts(outline: ServiceOutline | undefined, held: boolean): boolean {
  const leaving: readonly Action[] = held
    ? ['INSTALL', 'CONFIGURE']
    : ['INSTALL', 'CONFIGURE', 'INITIALIZE', 'START'];
  return outline?.actions.some((action) => leaving.includes(action)) === true;
}
