import type { FailureRecord } from '../node/failure.js';
import { operationKey } from '../names.js';
import { nodesBroughtUp, type Intent, type OperationKind } from '../plan/intent/intent.js';

/**
 * `held`: after a failure all independent work is done, and a person decides.
 * `failed`: it ended, and some of it did not succeed; no decision is pending.
 * `cancelled`: a person ended it; completed work stays.
 * `superseded`: another operation replaced it while it was held, or delete preempted it.
 * `rejected`: it could not be planned; nothing was done.
 */
const operationStates = [
  'queued',
  'running',
  'held',
  'done',
  'failed',
  'cancelled',
  'rejected',
  'superseded',
] as const;
/** Why Heddle starts an operation itself. */
export const operationCauses = ['failure', 'output', 'release', 'repair'] as const;

export type OperationState = (typeof operationStates)[number];

export interface Operation {
  /** Counts from 1 in each cluster. */
  readonly id: string;
  /** Part of the ids of its tasks. A request that is delivered again after a reset keeps it. */
  readonly uid: string;
  readonly kind: OperationKind;
  readonly intent: Intent;
  /** The intent in words, for people; at most 200 characters. */
  readonly what: string;
  readonly state: OperationState;
  /** Who asked, as the client named itself. */
  readonly by: string;
  /** RFC 3339. */
  readonly requestedAt: string;
  readonly startedAt?: string;
  readonly endedAt?: string;
  /** Why it is held, failed, cancelled, rejected or superseded. */
  readonly reason?: string;
  /** Present while it is paused: no task starts, running tasks continue to their end. */
  readonly paused?: { readonly by: string; readonly at: string };
  /** Numbers of planned and completed tasks; both increase when the operation is planned again. */
  readonly tasks: { readonly total: number; readonly done: number; readonly failed: number };
  /** The first permanent failures. */
  readonly failures?: readonly OperationFailure[];
  /** Nodes that it went on without, as `onFailure`, `minimum` and `rolling.maxFailures` allow; the first of them by id. */
  readonly missing?: MissingNodes;
  /** Number of times that it replaced lost machines, as the spec's `repair` allows, and continued. */
  readonly repairs?: number;
  /** Machines that were abandoned without deletion, on request: `<nodeId> <provider> <providerid>`. */
  readonly abandoned?: readonly string[];
  /** Of an apply that `nodes` or `services` limited: tasks that the rest of its spec needs. */
  readonly left?: number;
  /**
   * Why Heddle started it; absent if a user requested it. `failure`: the one before failed, with `onFailure: rollback`;
   * `output`: an output of another cluster changed; `release`: a node was released; `repair`: a periodic check found a fault.
   */
  readonly cause?: (typeof operationCauses)[number];
  /** True when there was nothing to do. */
  readonly unchanged?: true;
}

/** What the cancellation of an operation deletes: machines that it created and that were never confirmed. */
export interface Discard {
  readonly operation: string;
  /** Ids of the nodes that the operation brings up; absent: all. */
  readonly nodes?: readonly string[];
}

export function discardOf(operation: Operation): Discard {
  return { operation: operationKey(operation), nodes: nodesBroughtUp(operation.intent) };
}

/** Key of the operation under way. */
export function keyOfOperation({ operation }: { readonly operation?: Operation }): string {
  return operation === undefined ? '0' : operationKey(operation);
}

export interface MissingNodes {
  readonly count: number;
  /** The first of them. */
  readonly nodes: readonly string[];
  /** How many by group, and by the service that failed. */
  readonly groups: Readonly<Record<string, number>>;
  readonly services: Readonly<Record<string, number>>;
}

export interface OperationFailure extends Pick<
  FailureRecord,
  'action' | 'service' | 'kind' | 'message' | 'lost' | 'at'
> {
  readonly nodeId: string;
  /** The operation continued without the node. */
  readonly tolerated?: true;
}

/** Adds a failure to the first ones; those that hold the operation take the place of tolerated ones. */
export function addFailure(
  failures: readonly OperationFailure[],
  failure: OperationFailure,
): readonly OperationFailure[] {
  const all = [...failures, failure];
  if (all.length <= rememberedFailures) return all;
  const tolerated = all.findLastIndex((one) => one.tolerated === true);
  return all.filter((_, index) => index !== (tolerated === -1 ? all.length - 1 : tolerated));
}

export const endedStates: readonly OperationState[] = [
  'done',
  'failed',
  'cancelled',
  'rejected',
  'superseded',
];

/** How many ended operations a cluster remembers, and how many failures of each. */
export const rememberedOperations = 20;
const rememberedFailures = 5;
/** How many missing nodes an operation names. */
export const namedMissing = 20;

export function addMissing(
  missing: MissingNodes | undefined,
  node: { readonly nodeId: string; readonly group: string; readonly service: string | undefined },
): MissingNodes {
  const { count, nodes, groups, services } = missing ?? { count: 0, nodes: [], groups: {}, services: {} };
  return {
    count: count + 1,
    nodes: [...nodes, node.nodeId].slice(0, namedMissing),
    groups: { ...groups, [node.group]: (groups[node.group] ?? 0) + 1 },
    services:
      node.service === undefined
        ? services
        : { ...services, [node.service]: (services[node.service] ?? 0) + 1 },
  };
}

/** How many operations may be queued. */
export const queuedOperations = 20;

/** How many tasks of the spec a limited apply left, if no apply has done the rest since. */
export function leftOf(history: readonly Operation[]): number {
  const last = history.find(
    ({ kind, state }) => state === 'done' && (kind === 'apply' || kind === 'rollback' || kind === 'delete'),
  );
  return last?.left ?? 0;
}
