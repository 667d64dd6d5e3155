import type { Client } from '@temporalio/client';
import {
  rateLimiterWorkflowType,
  claimsWorkflowType,
  clusterWorkflowType,
  machineWorkflowType,
  nodeMachineWorkflowType,
  planWorkflowType,
  poolWorkflowType,
  reservationsWorkflowType,
  artifactsWorkflowType,
  searchAttributes,
  sweepWorkflowType,
  lockWorkflowType,
} from '../model/names.js';

/** A cluster as the server's index shows it; the cluster itself is not asked. */
export interface ClusterListing {
  readonly name: string;
  readonly phase?: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/**
 * Clusters that are there, by name. Memos are not read: a single one that somebody wrote in plaintext would
 * spoil the whole list.
 */
export async function listClusters(temporal: Client): Promise<readonly ClusterListing[]> {
  const listings: ClusterListing[] = [];
  for await (const { execution, startTime, searchAttributes: attributes } of listOpen(temporal, [
    clusterWorkflowType,
  ])) {
    const phase = readKeyword(attributes?.indexedFields?.[searchAttributes.phase]?.data);
    listings.push({
      name: (execution?.workflowId ?? '').replace(/^cluster\//, ''),
      createdAt: new Date(
        Number(startTime?.seconds ?? 0) * 1_000 + Number(startTime?.nanos ?? 0) / 1e6,
      ).toISOString(),
      phase,
    });
  }
  return listings.toSorted((a, b) => a.name.localeCompare(b.name));
}

/** Ids of all workflows of ours that are open now. */
export async function listOpenWorkflows(temporal: Client): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { execution } of listOpen(temporal, [
    clusterWorkflowType,
    machineWorkflowType,
    nodeMachineWorkflowType,
    planWorkflowType,
    claimsWorkflowType,
    sweepWorkflowType,
    poolWorkflowType,
    reservationsWorkflowType,
    artifactsWorkflowType,
    lockWorkflowType,
    rateLimiterWorkflowType,
  ])) {
    if (typeof execution?.workflowId === 'string') ids.push(execution.workflowId);
  }
  return ids;
}

type Page = Awaited<ReturnType<Client['workflowService']['listWorkflowExecutions']>>;

async function* listOpen(
  temporal: Client,
  types: readonly string[],
): AsyncGenerator<Page['executions'][number]> {
  const { namespace } = temporal.options;
  const query = `WorkflowType IN (${types.map((type) => `'${type}'`).join(', ')}) AND ExecutionStatus = 'Running'`;
  for (let nextPageToken: Uint8Array | undefined; nextPageToken === undefined || nextPageToken.length > 0;) {
    const page: Page = await temporal.workflowService.listWorkflowExecutions({
      namespace,
      query,
      pageSize: 1_000,
      nextPageToken,
    });
    yield* page.executions;
    ({ nextPageToken } = page);
  }
}

/** Search attributes are never encrypted: the server reads them. */
function readKeyword(data: Uint8Array | null | undefined): string | undefined {
  if (data === null || data === undefined) return undefined;
  const value: unknown = JSON.parse(Buffer.from(data).toString('utf8'));
  return typeof value === 'string' ? value : undefined;
}
