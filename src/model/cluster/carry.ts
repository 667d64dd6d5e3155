import { jsonBytes, mostCarried, maxSpecBytes } from '../carried.js';
import type { Json } from '../json.js';
import { stableJson } from '../node/payload.js';
import { upgradeState } from './upgrade-state.js';
import type { ClusterState, QueuedOperation } from './state.js';

const specKeys = ['spec', 'target', 'achieved', 'before'] as const;
type SpecKey = (typeof specKeys)[number];

/** A cluster as one run hands it to the next: specs that are the same are said once. */
export interface CarriedCluster
  extends Omit<ClusterState, SpecKey | 'queue'>, Partial<Record<SpecKey, number>> {
  readonly specs: readonly unknown[];
  /** Specs are indexes of `specs`. */
  readonly queue: readonly (Omit<QueuedOperation, 'spec'> & { readonly spec?: number })[];
}

export function packCluster(state: ClusterState): CarriedCluster {
  const { spec, target, achieved, before, queue, ...rest } = state;
  const specs: unknown[] = [];
  const indexes = new Map<string, number>();
  const indexOf = (value: unknown): number => {
    const text = stableJson(value as Json);
    const index = indexes.get(text) ?? specs.push(value) - 1;
    indexes.set(text, index);
    return index;
  };
  const named = Object.entries({ spec, target, achieved, before }).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, indexOf(value)] as const],
  );
  return {
    ...rest,
    ...Object.fromEntries(named),
    queue: queue.map(({ spec: own, ...queued }) =>
      own === undefined ? queued : { ...queued, spec: indexOf(own) },
    ),
    specs,
  };
}

/** @throws StateVersionError */
export function unpackCluster(carried: unknown): ClusterState {
  const { specs, queue, ...rest } = upgradeState(carried) as unknown as CarriedCluster;
  const named = specKeys.flatMap((key) => {
    const index = rest[key];
    return index === undefined ? [] : [[key, specs[index]] as const];
  });
  return {
    ...rest,
    ...Object.fromEntries(named),
    queue: queue.map(({ spec, ...queued }) =>
      spec === undefined ? queued : { ...queued, spec: specs[spec] },
    ),
  } as ClusterState;
}

/** Largest operation without its spec, in bytes. */
const maxIntentBytes = 100_000;
/** Room for nodes: 50 with payloads of 16 KiB, and what else is known of them. */
const bytesForNodes = 900_000;
/** Room for operations that ended. */
export const bytesForHistory = 160_000;

/**
 * Why an operation cannot wait in a cluster: the cluster must fit into one message to its next run, with all its nodes
 * at their largest.
 */
export function refuseTooLarge(
  state: ClusterState,
  added: { readonly intent: unknown; readonly spec?: unknown },
): string | undefined {
  const { name, queue } = state;
  const spec = jsonBytes(added.spec);
  if (spec > maxSpecBytes)
    return `the spec of cluster ${name} has ${spec} bytes as JSON, and at most ${maxSpecBytes} are possible; ${smaller}`;
  const intent = jsonBytes(added.intent);
  if (intent > maxIntentBytes)
    return `the request has ${intent} bytes as JSON, and at most ${maxIntentBytes} are possible; name fewer nodes or services in it`;
  const carried = packCluster({
    ...state,
    nodes: {},
    history: [],
    queue: [...queue, { operation: added.intent, spec: added.spec } as unknown as QueuedOperation],
  });
  const bytes = jsonBytes(carried);
  const room = mostCarried - bytesForNodes - bytesForHistory;
  if (bytes <= room) return undefined;
  return (
    `cluster ${name} would keep ${bytes} bytes of specs and operations, and has room for ${room}; ` +
    `wait until queued operations have ended, or cancel one ('heddle status ${name}' lists them), or ${smaller}`
  );
}

const smaller =
  "make the spec smaller: put large scripts and files into resources ('heddle resource put') and name those";
