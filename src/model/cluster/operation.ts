import type { Operation } from '../../schema/output/operation.js';
import { operationKey } from '../names.js';
import { bringsToSpec, nodesBroughtUp } from '../plan/intent/intent.js';

export type { Operation };

/**
 * `held`: after a failure all independent work is done, and a person decides.
 * `failed`: it ended, and some of it did not succeed; no decision is pending.
 * `cancelled`: a person ended it; completed work stays.
 * `superseded`: another operation replaced it while it was held, or delete preempted it.
 * `rejected`: it could not be planned; nothing was done.
 */
export type OperationState = Operation['state'];

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

/** Nodes that it continued without, as `onFailure`, `minimum` and `rolling.maxFailures` allow. */
export type MissingNodes = NonNullable<Operation['missing']>;

export type OperationFailure = NonNullable<Operation['failures']>[number];

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
    ({ kind, state }) => state === 'done' && (bringsToSpec(kind) || kind === 'delete'),
  );
  return last?.left ?? 0;
}

/** All that a cluster knows, the latest first. */
export function operationsOf({
  queued,
  operation,
  history,
}: {
  readonly queued: readonly Operation[];
  readonly operation?: Operation | undefined;
  readonly history: readonly Operation[];
}): readonly Operation[] {
  const known = [...queued, ...(operation === undefined ? [] : [operation]), ...history];
  return known.toSorted((one, other) => Number(other.id) - Number(one.id));
}
