import type { Client } from '@temporalio/client';
import { clusterWorkflowType, searchAttributes } from '../model/names.js';

/** A cluster as the server's index shows it; the cluster itself is not asked. */
export interface ClusterListing {
  readonly name: string;
  readonly phase?: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/**
 * Clusters that are there, by name. Memos are not read: a single one that somebody wrote in plaintext would spoil the
 * whole list.
 */
export async function listClusters(temporal: Client): Promise<readonly ClusterListing[]> {
  const listings: ClusterListing[] = [];
  const query = `WorkflowType = '${clusterWorkflowType}' AND ExecutionStatus = 'Running'`;
  const { namespace } = temporal.options;
  for (let nextPageToken: Uint8Array | undefined; nextPageToken === undefined || nextPageToken.length > 0;) {
    const page = await temporal.workflowService.listWorkflowExecutions({ namespace, query, pageSize: 1_000, ...(nextPageToken === undefined ? {} : { nextPageToken }) });
    for (const { execution, startTime, searchAttributes: attributes } of page.executions) {
      const phase = readKeyword(attributes?.indexedFields?.[searchAttributes.phase]?.data);
      listings.push({
        name: (execution?.workflowId ?? '').replace(/^cluster\//, ''),
        createdAt: new Date(Number(startTime?.seconds ?? 0) * 1_000 + Number(startTime?.nanos ?? 0) / 1e6).toISOString(),
        ...(phase === undefined ? {} : { phase }),
      });
    }
    ({ nextPageToken } = page);
  }
  return listings.toSorted((a, b) => a.name.localeCompare(b.name));
}

/** Search attributes are never encrypted: the server reads them. */
function readKeyword(data: Uint8Array | null | undefined): string | undefined {
  if (data === null || data === undefined) return undefined;
  const value: unknown = JSON.parse(Buffer.from(data).toString('utf8'));
  return typeof value === 'string' ? value : undefined;
}
