import type { NodeState, Placement } from '../node.js';
import type { PoolNode } from './node.js';
import type { PoolState } from './state.js';

/**
 * A pool as one run hands it to the next. It must stay small, for one message carries it: nodes that are alike share what
 * is said of where their machines come from.
 */
export interface CarriedPool extends Omit<PoolState, 'nodes'> {
  readonly nodes: Readonly<Record<string, CarriedNode>>;
  readonly machines: readonly Placement[];
}

export interface CarriedNode extends Omit<PoolNode, 'machine'> {
  readonly machine: Omit<NodeState, 'placement' | 'services' | 'runs' | 'group' | 'nodeId'>;
  /** Index of its placement among the shared ones. */
  readonly place?: number;
}

export function packPool({ nodes, ...pool }: PoolState): CarriedPool {
  const machines: Placement[] = [];
  const places = new Map<string, number>();
  const pack = ({ machine: { placement, services: _services, runs: _runs, group: _group, nodeId: _nodeId, ...machine }, ...node }: PoolNode): CarriedNode => {
    if (placement === undefined) return { ...node, machine };
    const key = JSON.stringify(placement);
    const place = places.get(key) ?? machines.push(placement) - 1;
    places.set(key, place);
    return { ...node, machine, place };
  };
  return { ...pool, nodes: Object.fromEntries(Object.entries(nodes).map(([id, node]) => [id, pack(node)])), machines };
}

export function unpackPool({ nodes, machines, ...pool }: CarriedPool): PoolState {
  const unpack = ({ machine, place, ...node }: CarriedNode): PoolNode => {
    const placement = place === undefined ? undefined : machines[place];
    return { ...node, machine: { ...machine, nodeId: node.id, group: node.label, services: [], runs: {}, ...(placement === undefined ? {} : { placement }) } };
  };
  return { ...pool, nodes: Object.fromEntries(Object.entries(nodes).map(([id, node]) => [id, unpack(node)])) };
}
