import type { NodeState } from '../node/state.js';
import type { Placement } from '../node/placement.js';
import { bareRecord } from '../bare-record.js';
import { ownKeys } from '../node/record.js';
import type { PoolNode } from './node.js';
import type { NodeRequest } from './request.js';
import type { PoolState } from './state.js';

/**
 * A pool as one run hands it to the next. One message carries it, so it is kept small: what nodes share is
 * said once, and what follows from the rest is left out.
 */
export interface CarriedPool extends Omit<PoolState, 'nodes' | 'requests'> {
  readonly nodes: Readonly<Record<string, CarriedNode>>;
  readonly requests: Readonly<Record<string, CarriedRequest>>;
  readonly machines: readonly Placement[];
}

interface CarriedNode extends Omit<PoolNode, 'machine' | 'id'> {
  readonly machine: Omit<
    NodeState,
    'placement' | 'services' | 'runs' | 'group' | 'nodeId' | 'hostname' | 'changedAt'
  >;
  /** Index of its placement among the shared ones. */
  readonly place?: number;
}

type CarriedRequest = Omit<NodeRequest, 'id' | 'declined' | 'failures' | 'attributes'> &
  Partial<Pick<NodeRequest, 'declined' | 'failures' | 'attributes'>>;

export function packPool({ nodes, requests, ...pool }: PoolState): CarriedPool {
  const machines: Placement[] = [];
  const places = new Map<string, number>();
  const placeOf = (placement: Placement): number => {
    const key = JSON.stringify(placement);
    const place = places.get(key) ?? machines.push(placement) - 1;
    places.set(key, place);
    return place;
  };
  return {
    ...pool,
    nodes: mapEntries(nodes, ({ id: _id, machine, ...node }): CarriedNode => {
      const {
        placement,
        services: _services,
        runs: _runs,
        group: _group,
        nodeId: _nodeId,
        hostname: _hostname,
        changedAt: _changedAt,
        ...rest
      } = machine;
      if (placement === undefined) return { ...node, machine: rest };
      const own = ownKeys(machine, placement);
      const payload = Object.fromEntries(
        Object.entries(rest.payload).filter(([key]) => !Object.hasOwn(own, key)),
      );
      return { ...node, machine: { ...rest, payload }, place: placeOf(placement) };
    }),
    requests: mapEntries(
      requests,
      ({ id: _id, declined, failures, attributes, ...request }): CarriedRequest => ({
        ...request,
        ...(Object.keys(declined).length === 0 ? {} : { declined }),
        ...(failures === 0 ? {} : { failures }),
        ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
      }),
    ),
    machines,
  };
}

export function unpackPool({ nodes, requests, machines, servedAt, ...pool }: CarriedPool): PoolState {
  const unpack = ({ machine, place, ...node }: CarriedNode, id: string): PoolNode => {
    const bare: NodeState = {
      ...machine,
      nodeId: id,
      group: node.label,
      hostname: `${pool.name}-${id}`,
      services: [],
      runs: {},
      changedAt: 0,
    };
    const placement = place === undefined ? undefined : machines[place];
    return {
      ...node,
      id,
      machine:
        placement === undefined
          ? bare
          : { ...bare, placement, payload: { ...ownKeys(bare, placement), ...machine.payload } },
    };
  };
  return {
    ...pool,
    ...(servedAt === undefined ? {} : { servedAt: bareRecord(Object.entries(servedAt)) }),
    nodes: mapEntries(nodes, unpack),
    requests: mapEntries(requests, (request, id): NodeRequest => ({
      declined: {},
      failures: 0,
      attributes: {},
      ...request,
      id,
    })),
  };
}

function mapEntries<From, To>(
  record: Readonly<Record<string, From>>,
  change: (from: From, key: string) => To,
): Record<string, To> {
  return bareRecord(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}
