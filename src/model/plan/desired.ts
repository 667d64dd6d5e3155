import { serviceActionKeys, type Action } from '../action.js';
import { digestsOf, type ServiceDigests } from './work/service-work.js';
import type { NodeSummary, PlanningInput } from './facts/current.js';
import { withDependents, type Outlines, type ServiceOutline } from './order/dependencies.js';
import { missingNodes, replacementOf, splitByCount } from './machines/machines.js';
import { nodeId } from '../names.js';
import { indexesOf } from './plan.js';
import { servicesAfter, isTouched } from './intent/scope.js';
import { rollingOf, type Rolling } from './rolling/rolling.js';
import { downOrder, rollingOrder, upOrder, type Order } from './order/order.js';
import type { ServiceSpec } from '../cluster/spec.js';

/** What the whole cluster should be, worked out once for all kinds. */
export interface Desired {
  readonly outlines: Outlines;
  readonly digests: Readonly<Record<string, ServiceDigests>>;
  readonly up: Order;
  readonly down: Order;
  readonly membership: Membership;
  /** Everything goes. */
  readonly deleting: boolean;
  /** Services that stay down: those that a user stopped, and what needs them at run time. */
  readonly held: ReadonlySet<string>;
  /** Present in a rolling plan. */
  readonly rolling?: Rolling;
  /** Services that stop and start with one that they need, and why. */
  readonly following: Following;
  /** The services that route traffic to each service, and must be configured without nodes that go down. */
  readonly drains: Readonly<Record<string, readonly string[]>>;
  /** All of those: their CONFIGURE may be done more than once. */
  readonly routers: ReadonlySet<string>;
  /** Ids of nodes whose replacement is left to a later plan of the same operation. */
  readonly postponed: ReadonlySet<string>;
}

/** Services of nodes that join, leave, move or are replaced in this plan. */
export type Following = ReadonlyMap<string, string>;

interface Membership {
  readonly services: ReadonlySet<string>;
  readonly any: boolean;
}

function outlineOf(service: ServiceSpec): ServiceOutline {
  const keys = Object.keys(service.actions) as (keyof typeof serviceActionKeys)[];
  return {
    provides: service.provides,
    install: service.install,
    runtime: service.runtime,
    peers: service.peers,
    onPeersChange: service.onPeersChange,
    ...(service.onConfigChange === undefined ? {} : { onConfigChange: service.onConfigChange }),
    actions: keys.map((key) => serviceActionKeys[key]),
  };
}

export function outlinesOf(services: Readonly<Record<string, ServiceSpec>>): Outlines {
  const outlines = Object.entries(services).map(([name, service]): [string, ServiceOutline] => {
    const outline = outlineOf(service);
    const routes = Object.keys(services).filter((other) => services[other]?.rolling?.drain.includes(name));
    if (routes.length === 0) return [name, outline];
    const { requires, uses } = outline.runtime;
    return [name, { ...outline, routes, runtime: { requires, uses: [...uses, ...routes] } }];
  });
  return Object.fromEntries(outlines);
}

/** Every service that the spec names or that some node has. */
export function allOutlines({ current, spec }: PlanningInput): Outlines {
  return { ...current.services, ...outlinesOf(spec?.services ?? {}) };
}

/** @throws PlanError when services wait for each other in a circle. */
export function desiredServices(input: PlanningInput, postponed: ReadonlySet<string>): Desired {
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
  { outlines, held, postponed }: Pick<Desired, 'outlines' | 'held' | 'postponed'>,
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
