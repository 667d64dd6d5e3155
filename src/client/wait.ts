import { endedStates, operationsOf, type Operation } from '../model/cluster/operation.js';
import type { ClusterStatus } from '../schema/output/status.js';
import { waitUntil, type WaitUntilOptions } from './entity-client.js';
import { HeddleError } from './errors.js';

export interface WaitOptions extends Omit<WaitUntilOptions<ClusterStatus>, 'onView'> {
  /** Called with each status. */
  readonly onStatus?: (status: ClusterStatus) => void;
}

interface StatusSource {
  /** The status without nodes. */
  summary(name: string): Promise<ClusterStatus>;
  status(name: string): Promise<ClusterStatus>;
  /** Changes while a worker carries the cluster's workflow out. */
  progress(name: string): Promise<string>;
}

export interface WaitResult {
  readonly operation: Operation;
  readonly status: ClusterStatus;
}

/**
 * Waits until the operation has ended or is held.
 * @throws HeddleError NotFound when the cluster has no record of the operation.
 */
export async function waitForOperation(
  client: StatusSource,
  name: string,
  id: string,
  { onStatus, ...options }: WaitOptions,
): Promise<WaitResult> {
  const end = await waitUntil(
    () => client.summary(name),
    (status): WaitResult | undefined => {
      const operation = findOperation(status, id);
      if (operation === undefined)
        throw new HeddleError('NotFound', `cluster ${name} has no record of operation ${id}`, {
          next: `heddle history ${name}`,
        });
      const over = operation.state === 'held' || endedStates.includes(operation.state);
      return over ? { operation, status } : undefined;
    },
    { ...options, onView: onStatus },
    () => client.progress(name),
  );
  return { ...end, status: await client.status(name).catch(() => end.status) };
}

export function findOperation(status: ClusterStatus, id: string): Operation | undefined {
  return operationsOf(status).find((operation) => operation.id === id);
}
