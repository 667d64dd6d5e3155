import { jsonBytes, mostCarried } from '../carried.js';
import type { NodeState } from '../node/state.js';
import type { Placement } from '../node/placement.js';
import { bareRecord } from '../bare-record.js';
import { ownKeys } from '../node/record.js';
import { newValueTable } from '../shared-values.js';
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

/** What does not fit is left out if it only explains: ended requests, reasons and failures. */
export function packPool(pool: PoolState, most = mostCarried): CarriedPool {
  const whole = pack(pool);
  return jsonBytes(whole) <= most ? whole : pack(withoutReasons(pool));
}

function withoutReasons({ failures: _failures, launchTimes: _times, ...pool }: PoolState): PoolState {
  return {
    ...pool,
    ended: [],
    nodes: mapEntries(pool.nodes, ({ why: _why, ...node }) => node),
    requests: mapEntries(pool.requests, withoutReason),
  };
}

function withoutReason({
  waits: _waits,
  lastFailure: _failure,
  declined,
  ...request
}: NodeRequest): NodeRequest {
  return { ...request, declined: mapEntries(declined, () => '') };
}

function pack({ nodes, requests, ...pool }: PoolState): CarriedPool {
  const { values: machines, indexOf } = newValueTable<Placement>();
  return {
    ...pool,
    nodes: mapEntries(nodes, (node) => {
      const { placement } = node.machine;
      return { ...packNode(node), ...(placement === undefined ? {} : { place: indexOf(placement) }) };
    }),
    requests: mapEntries(requests, packRequest),
    machines,
  };
}

function packNode({ id: _id, machine, ...node }: PoolNode): CarriedNode {
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
  return { ...node, machine: { ...rest, payload } };
}

function packRequest({ id: _id, declined, failures, attributes, ...request }: NodeRequest): CarriedRequest {
  return {
    ...request,
    ...(Object.keys(declined).length === 0 ? {} : { declined }),
    ...(failures === 0 ? {} : { failures }),
    ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
  };
}

/** Nodes and requests are replaced and never changed, so each is measured once. */
const measured = new WeakMap<object, number>();

function sumOf<Value extends object>(
  values: Readonly<Record<string, Value>>,
  bare: (value: Value) => unknown,
): number {
  let sum = 0;
  for (const [id, value] of Object.entries(values)) {
    const known = measured.get(value);
    const bytes = known ?? jsonBytes([id, bare(value)]) + placeBytes;
    if (known === undefined) measured.set(value, bytes);
    sum += bytes;
  }
  return sum;
}

/** For the index of a placement. */
const placeBytes = 16;

/** What nodes and requests take of what is carried, without reasons, in bytes of JSON. */
export function carriedBytes({ nodes, requests }: Pick<PoolState, 'nodes' | 'requests'>): number {
  return (
    sumOf(nodes, ({ why: _why, ...node }) => packNode(node)) +
    sumOf(requests, (request) => packRequest(withoutReason(request)))
  );
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
