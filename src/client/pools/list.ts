import type { Client } from '@temporalio/client';
import { poolWorkflowType } from '../../model/names.js';
import { call } from '../call.js';

/** A pool as the server's index shows it; the pool itself is not asked. */
export interface PoolListing {
  readonly name: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** Pools that are there, by name; no worker is needed. */
export async function listPools(temporal: Client): Promise<readonly PoolListing[]> {
  const { namespace } = temporal.options;
  const query = `WorkflowType = '${poolWorkflowType}' AND ExecutionStatus = 'Running'`;
  const found = new Map<string, string>();
  for (let nextPageToken: Uint8Array | undefined; nextPageToken === undefined || nextPageToken.length > 0;) {
    const page: Awaited<ReturnType<Client['workflowService']['listWorkflowExecutions']>> = await call(
      temporal,
      'pools',
      () =>
        temporal.workflowService.listWorkflowExecutions({ namespace, query, pageSize: 1_000, nextPageToken }),
    );
    for (const { execution, startTime } of page.executions) {
      found.set(
        (execution?.workflowId ?? '').replace(/^pool\//, ''),
        new Date(Number(startTime?.seconds ?? 0) * 1_000).toISOString(),
      );
    }
    ({ nextPageToken } = page);
  }
  return [...found]
    .map(([name, createdAt]) => ({ name, createdAt }))
    .toSorted((one, other) => one.name.localeCompare(other.name));
}
