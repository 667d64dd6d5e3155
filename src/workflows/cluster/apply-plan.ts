import { hostname, nodeId } from '../../model/names.js';
import type { AdoptedMachine, NodeState } from '../../model/node/state.js';
import type { Kind, Plan } from '../../model/plan/plan.js';
import { indexesOf } from '../../model/plan/ranges.js';
import type { Removal } from '../../model/plan/plan.js';
import { recordAdopted, recordRemoval } from '../../model/node/record.js';
import { announceNode, changeNode, hideNode, showNode, type NodesMemory } from './memory.js';
import { change } from '../entity.js';

/** What a workflow needs of a plan, beside the kinds of its nodes. */
export interface PlannedNodes {
  readonly cluster: string;
  readonly kinds: readonly Kind[];
  /** Services of each group of the spec; absent when the operation leaves them as they are. */
  readonly services?: Readonly<Record<string, readonly string[]>>;
  /** The number of a node that is new. */
  readonly nodenum: (nodeId: string) => number;
  /** Machines of a previous run of the cluster, by the node that adopts each. */
  readonly adopted?: Readonly<Record<string, AdoptedMachine>>;
  readonly operation: string;
  /** What the operation names for removal now. */
  readonly removals?: readonly Removal[];
}

/** Makes the nodes what the plan says that they are to be: new ones, other services, on their way out. */
export function applyPlan(memory: NodesMemory, planned: PlannedNodes): void {
  const { services } = planned;
  if (services !== undefined) {
    for (const node of Object.values(memory.state.nodes))
      changeServices(memory, node.nodeId, services[node.group] ?? node.services);
  }
  for (const kind of planned.kinds) {
    for (const index of indexesOf(kind.nodes)) takeNode(memory, planned, kind, nodeId(kind.group, index));
  }
  for (const removal of planned.removals ?? []) {
    for (const index of indexesOf(removal.nodes))
      changeNode(memory, nodeId(removal.group, index), (node) =>
        recordRemoval(node, planned.operation, removal),
      );
  }
}

/** The services of each group in the planned spec; a limited apply changes those of its kinds only. */
export function servicesOfGroups({ spec, left }: Plan): PlannedNodes['services'] {
  if (spec === undefined || left !== undefined) return undefined;
  return Object.fromEntries(Object.entries(spec.nodes).map(([group, { services }]) => [group, services]));
}

function changeServices(memory: NodesMemory, id: string, services: readonly string[]): void {
  const before = memory.state.nodes[id]?.services ?? [];
  if (before.length === services.length && before.every((name) => services.includes(name))) return;
  announceNode(memory, id);
  changeNode(memory, id, (node) => ({ ...node, services }));
  announceNode(memory, id);
}

function takeNode(
  memory: NodesMemory,
  { cluster, nodenum, adopted }: PlannedNodes,
  kind: Kind,
  id: string,
): void {
  if (kind.purpose === 'remove') {
    hideNode(memory, id, { leaving: true });
    return;
  }
  if (memory.state.nodes[id] !== undefined) {
    // A command does not make a node a peer again.
    if (kind.purpose !== 'exec') showNode(memory, id);
    if (kind.ownServices === true) changeServices(memory, id, kind.services);
    return;
  }
  const node: NodeState = {
    nodeId: id,
    group: kind.group,
    nodenum: nodenum(id),
    hostname: hostname(cluster, id),
    incarnation: 0,
    incarnationFloor: memory.state.incarnation === 0 ? undefined : memory.state.incarnation,
    payload: {},
    facts: { services: {} },
    services: kind.services,
    changedAt: 0,
    runs: {},
  };
  const machine = adopted?.[id];
  change(memory, {
    nodes: { ...memory.state.nodes, [id]: machine === undefined ? node : recordAdopted(node, machine) },
  });
  announceNode(memory, id);
}
