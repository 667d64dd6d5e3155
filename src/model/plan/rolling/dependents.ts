import { bringsToSpec } from '../intent/intent.js';
import { mayRun } from '../work/service-work.js';
import type { NodeSummary, PlannedServiceFacts } from '../facts/current.js';
import { requiredServices, withDependents, type ServiceOutline } from '../order/dependencies.js';
import type { PlanContext, Following } from '../context.js';
import type { DraftKind } from '../work/draft.js';
import { nodeId } from '../../names.js';
import { indexesOf } from '../ranges.js';
import { meantServices, servicesOn } from '../intent/selection.js';

/** What an operation does about services that need one it stops. */
export interface Dependents {
  /** They stop before it and start after it; why, by service. */
  readonly following: Following;
  /** Why others keep running, for people. */
  readonly notes: readonly string[];
}

const none: Dependents = { following: new Map(), notes: [] };

/**
 * A service that stops on all nodes where it runs takes along what requires it at run time. One that stays up
 * on some node, or goes down batch by batch, does not.
 * @param kinds the plan as it is without the dependents
 */
export function dependentsOf(context: PlanContext, kinds: readonly DraftKind[]): Dependents {
  const stops = stoppedNodes(context, kinds);
  if (stops.size === 0) return none;
  const { outlines, held, rolling } = context;
  const whole = [...stops.keys()].filter((name) => isWhole(context, outlines[name], name, stops.get(name)));
  const follows = (name: string): boolean =>
    !held.has(name) &&
    rolling?.widths[name] === undefined &&
    outlines[name]?.actions.includes('START') === true;
  const together = whole.filter((name) => rolling?.widths[name] === undefined);
  const reached = new Set(withDependents(outlines, together, follows));
  const following = new Map(
    [...reached].flatMap((name) => {
      const needed = requiredServices(outlines, name).filter((other) => reached.has(other));
      return together.includes(name) || needed.length === 0
        ? []
        : [[name, `it needs ${needed.join(', ')}`] as const];
    }),
  );
  const why = (name: string): string => {
    const width = rolling?.widths[name];
    if (width !== undefined) return `${name} goes down on ${formatNodes(width)} at a time`;
    return whole.includes(name)
      ? 'a rolling service stops only in batches'
      : `${name} stays up on other nodes`;
  };
  const notes = [...stops.keys()].flatMap((name) => {
    const others = withDependents(outlines, [name]).filter(
      (other) =>
        other !== name &&
        !following.has(other) &&
        !stops.has(other) &&
        !held.has(other) &&
        context.drains[name]?.includes(other) !== true &&
        isPlaced(context, other),
    );
    return others.length === 0
      ? []
      : [`not restarted with ${name}, although they require it: ${others.join(', ')}; ${why(name)}`];
  });
  return { following, notes };
}

function formatNodes(count: number): string {
  return count === 1 ? '1 node' : `${count} nodes`;
}

type Stops = ReadonlyMap<string, ReadonlySet<string>>;

/** The nodes on which each service stops, by its name, from the first plan of the operation to the last. */
function stoppedNodes(context: PlanContext, kinds: readonly DraftKind[]): Stops {
  switch (context.intent.kind) {
    case 'apply':
    case 'rollback':
    case 'scale':
      return stopsIn(context, kinds);
    case 'restart':
    case 'reconfigure':
      return stopsMeant(context);
    case 'replace':
      return stopsByReplacement(context);
    default:
      return new Map();
  }
}

/** An apply plans from facts alone: what it stopped it starts, so only what is still to stop counts. */
function stopsIn({ rolling }: PlanContext, kinds: readonly DraftKind[]): Stops {
  // Machines that are replaced one after the other take nothing along.
  const phases = rolling === undefined ? ['up', 'replace'] : ['up'];
  return collect(
    kinds.flatMap(({ group, nodes, chain, purpose, services }) => {
      const stopped = chain.flatMap(({ action, phase, service }) =>
        action === 'STOP' && phases.includes(phase) && service !== undefined ? [service] : [],
      );
      return [
        {
          group,
          nodes,
          services: purpose === 'replace' && rolling === undefined ? [...stopped, ...services] : stopped,
        },
      ];
    }),
  );
}

function stopsMeant(context: PlanContext): Stops {
  const { intent } = context;
  if (intent.kind === 'reconfigure' && intent.restart !== true) return new Map();
  const action = intent.kind === 'reconfigure' ? 'CONFIGURE' : 'START';
  const meant = meantServices(context, action).filter((name) => !context.held.has(name));
  return stopsOf(context, meant, 'nodes' in intent ? intent.nodes : undefined);
}

function stopsByReplacement(context: PlanContext): Stops {
  const { intent, outlines, rolling } = context;
  if (intent.kind !== 'replace' || rolling !== undefined) return new Map();
  return stopsOf(context, Object.keys(outlines), intent.nodes);
}

function stopsOf(
  context: PlanContext,
  meant: readonly string[],
  nodes: readonly string[] | undefined,
): Stops {
  const ids = nodes === undefined ? undefined : new Set(nodes);
  return collect(
    context.current.nodes.map((summary) => {
      const services = servicesOn(context, summary).filter((name) => meant.includes(name));
      return { group: summary.group, nodes: summary.nodes, services, ids };
    }),
  );
}

interface Stopping extends Pick<NodeSummary, 'group' | 'nodes'> {
  readonly services: readonly string[];
  /** Only these nodes. */
  readonly ids?: ReadonlySet<string>;
}

function collect(all: readonly Stopping[]): Stops {
  const stops = new Map<string, Set<string>>();
  for (const { group, nodes, services, ids } of all) {
    if (services.length === 0) continue;
    const meant = indexesOf(nodes)
      .map((index) => nodeId(group, index))
      .filter((id) => ids === undefined || ids.has(id));
    if (meant.length === 0) continue;
    for (const name of services) {
      const known = stops.get(name) ?? new Set();
      for (const id of meant) known.add(id);
      stops.set(name, known);
    }
  }
  return stops;
}

/**
 * It stops on every node that has it; an apply, which plans from what is left to do: on every node where it
 * runs.
 */
function isWhole(
  context: PlanContext,
  outline: ServiceOutline | undefined,
  service: string,
  stopped: ReadonlySet<string> = new Set(),
): boolean {
  const { intent, current } = context;
  const isApply = bringsToSpec(intent.kind);
  const having = current.nodes.filter((summary) =>
    isApply ? runs(outline, summary.facts.services[service]) : servicesOn(context, summary).includes(service),
  );
  return (
    having.length > 0 &&
    having.every(({ group, nodes }) => indexesOf(nodes).every((index) => stopped.has(nodeId(group, index))))
  );
}

function runs(outline: ServiceOutline | undefined, facts: PlannedServiceFacts | undefined): boolean {
  return facts !== undefined && (mayRun(facts) || outline?.actions.includes('START') === false);
}

function isPlaced({ current }: PlanContext, service: string): boolean {
  return current.nodes.some(({ facts }) => facts.services[service]?.START !== undefined);
}
