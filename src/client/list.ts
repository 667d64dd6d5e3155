import type { Client } from '@temporalio/client';
import { clusterWorkflowType, searchAttributes } from '../model/names.js';

/** A cluster as the server's index shows it; the cluster itself is not asked. */
export interface ClusterListing {
  readonly name: string;
  /** `running`, or how its workflow ended: `completed`, `failed`, `terminated`, ... */
  readonly status: string;
  readonly phase?: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

export async function listClusters(temporal: Client): Promise<readonly ClusterListing[]> {
  const listings: ClusterListing[] = [];
  const query = `WorkflowType = '${clusterWorkflowType}' AND ExecutionStatus = 'Running'`;
  for await (const found of temporal.workflow.list({ query })) {
    const attributes = found.searchAttributes as Readonly<Record<string, readonly unknown[] | undefined>>;
    const phase = attributes[searchAttributes.phase]?.[0];
    listings.push({
      name: found.workflowId.replace(/^cluster\//, ''), status: found.status.name.toLowerCase(),
      createdAt: found.startTime.toISOString(), ...(typeof phase === 'string' ? { phase } : {}),
    });
  }
  return listings.toSorted((a, b) => a.name.localeCompare(b.name));
}
