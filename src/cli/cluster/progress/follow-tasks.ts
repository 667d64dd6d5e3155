import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { clusterWorkflowId } from '../../../model/names.js';
import { anySignal } from '../../../model/signals.js';
import { workflowsOf } from '../task/history-events.js';
import { createTaskReader, type TaskRun } from '../task/task-events.js';

export interface FollowOptions {
  /** Tasks of the operation with this uid alone. */
  readonly operation: string;
  /** Leaves out what ended before this moment (milliseconds since the epoch). */
  readonly since: number;
  readonly signal: AbortSignal;
  readonly onEnd: (run: TaskRun) => Promise<void>;
}

/** Interval between checks for new groups of nodes, in ms. */
const pollMs = 2_000;

/**
 * Reports each task that ends, from the histories of the cluster and its groups: no task is missed, and no
 * worker is needed. Ends with the signal, or with the cluster.
 */
export async function followTasks(temporal: Client, cluster: string, options: FollowOptions): Promise<void> {
  const ended = new AbortController();
  const signal = anySignal([options.signal, ended.signal]);
  // One for each group of the cluster.
  setMaxListeners(0, signal);
  const followed = new Set<string>();
  const follow = (workflowId: string): Promise<void> => {
    followed.add(workflowId);
    return followWorkflow(temporal, workflowId, { ...options, signal });
  };
  const all = follow(clusterWorkflowId(cluster)).finally(() => ended.abort());
  // Its failure is thrown at the end.
  all.catch(() => undefined);
  const groups: Promise<void>[] = [];
  while (!signal.aborted) {
    const ids = await workflowsOf(temporal, cluster).catch(() => []);
    // Failures of groups that have ended do not matter.
    for (const id of ids.filter((known) => !followed.has(known)))
      groups.push(follow(id).catch(() => undefined));
    await sleep(pollMs, undefined, { signal }).catch(() => undefined);
  }
  await Promise.all([all, ...groups]);
}

async function followWorkflow(
  temporal: Client,
  workflowId: string,
  { operation, since, signal, onEnd }: FollowOptions,
): Promise<void> {
  const {
    connection,
    workflowService,
    options: { namespace },
  } = temporal;
  let runId: string | undefined = '';
  while (runId !== undefined) {
    const reader = createTaskReader();
    const execution: { workflowId: string; runId: string } = { workflowId, runId };
    let token: Uint8Array | undefined;
    runId = undefined;
    do {
      const request = { namespace, execution, waitNewEvent: true, nextPageToken: token };
      const page = await withAbort(signal, (once) =>
        connection.withAbortSignal(once, () => workflowService.getWorkflowExecutionHistory(request)),
      );
      for (const event of page.history?.events ?? []) {
        const run = reader.read(event);
        if (run?.end !== undefined && run.operation === operation && run.end.at >= since) await onEnd(run);
        runId = event.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? runId;
      }
      token = page.nextPageToken.length === 0 ? undefined : page.nextPageToken;
    } while (token !== undefined);
  }
}

/**
 * A signal for one call: the connection never removes its listener from a signal, and there are many calls.
 */
async function withAbort<Result>(
  signal: AbortSignal,
  make: (once: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const once = new AbortController();
  const abort = (): void => once.abort(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await make(once.signal);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
