import { setTimeout as pause } from 'node:timers/promises';
import { endedStates, type Operation } from '../model/cluster/operation.js';
import type { ClusterStatus } from '../model/cluster/view.js';
import { HeddleError } from './errors.js';
import type { HeddleClient } from './heddle-client.js';

export interface WaitOptions {
  /** Between looks, in ms; 400 unless given. */
  readonly everyMs?: number;
  readonly signal?: AbortSignal;
  /** Called with each look. */
  readonly onStatus?: (status: ClusterStatus) => void;
  /** Called when a look failed in a way that may pass: no server, or no worker. */
  readonly onSilence?: (error: HeddleError) => void;
  /** Longest silence of server and workers that is waited out, in ms; 5 minutes unless given. */
  readonly patienceMs?: number;
}

export interface WaitResult {
  readonly operation: Operation;
  readonly status: ClusterStatus;
}

/**
 * Looks until the operation has ended or is held.
 * @throws HeddleError NotFound when the cluster remembers no such operation.
 */
export async function waitForOperation(
  client: HeddleClient,
  name: string,
  id: string,
  options: WaitOptions,
): Promise<WaitResult> {
  const { everyMs = 400, signal, patienceMs = 5 * 60_000 } = options;
  let answeredAt = Date.now();
  for (;;) {
    try {
      const status = await client.summary(name);
      answeredAt = Date.now();
      options.onStatus?.(status);
      const operation = findOperation(status, id);
      if (operation === undefined)
        throw new HeddleError('NotFound', `cluster ${name} remembers no operation ${id}`, {
          next: `heddle history ${name}`,
        });
      if (operation.state === 'held' || endedStates.includes(operation.state))
        return { operation, status: await client.status(name).catch(() => status) };
    } catch (error) {
      if (!isPassing(error) || Date.now() - answeredAt > patienceMs) throw error;
      options.onSilence?.(error);
    }
    await pause(everyMs, undefined, signal === undefined ? {} : { signal });
  }
}

export function findOperation(status: ClusterStatus, id: string): Operation | undefined {
  return [status.operation, ...status.queued, ...status.history].find((operation) => operation?.id === id);
}

function isPassing(error: unknown): error is HeddleError {
  return error instanceof HeddleError && (error.code === 'NoWorker' || error.code === 'NoServer');
}
