import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import type { HeddleClient } from '../../client/heddle-client.js';
import type { ClusterListing } from '../../client/list.js';
import { findStuck } from '../../client/stuck.js';
import { clusterWorkflowId } from '../../model/names.js';
import type { ListDocument } from '../../schema/output/documents.js';
import type { ClusterStatus } from '../../schema/output/status.js';

export type ListedCluster = ListDocument['clusters'][number];

/** Phases in which a cluster waits for a person or did not get what was asked for, the most urgent first. */
const problemPhases: readonly (string | undefined)[] = ['held', 'failed', 'paused'];

/** More clusters are not asked for their reason, each for at most so long, and so many at a time. */
export const mostReasons = 20;
const reasonMs = 3_000;
const atOnce = 8;

/** Whether a cluster does not go on without a person. */
export function isProblem({ stuck, phase }: Pick<ListedCluster, 'stuck' | 'phase'>): boolean {
  return stuck === true || problemPhases.includes(phase);
}

/** Those that no worker can continue first, then the held, failed and paused ones; otherwise by name. */
export function problemsFirst<Listed extends Pick<ListedCluster, 'stuck' | 'phase'>>(
  clusters: readonly Listed[],
): readonly Listed[] {
  return clusters.toSorted((one, other) => rankOf(one) - rankOf(other));
}

function rankOf({ stuck, phase }: Pick<ListedCluster, 'stuck' | 'phase'>): number {
  if (stuck === true) return -1;
  const rank = problemPhases.indexOf(phase);
  return rank === -1 ? problemPhases.length : rank;
}

/** Adds the reasons of the first problems. A cluster that does not answer in time has none. */
export async function withReasons(
  { client, temporal }: { readonly client: Pick<HeddleClient, 'summary'>; readonly temporal: Client },
  clusters: readonly ClusterListing[],
): Promise<readonly ListedCluster[]> {
  const limit = pLimit(atOnce);
  const asked = new Set(clusters.filter(isProblem).slice(0, mostReasons));
  return Promise.all(
    clusters.map(async (cluster) => {
      if (!asked.has(cluster)) return cluster;
      const reason = await limit(() =>
        inTime(
          cluster.stuck === true ? reasonOfStuck(temporal, cluster.name) : reasonIn(client, cluster.name),
        ),
      );
      return reason === undefined ? cluster : { ...cluster, reason };
    }),
  );
}

/** How many problems were not asked for a reason; 0 if none has one, as without a worker. */
export function countWithoutReason(clusters: readonly ListedCluster[]): number {
  if (clusters.every(({ reason }) => reason === undefined)) return 0;
  return Math.max(0, clusters.filter(isProblem).length - mostReasons);
}

async function reasonIn(client: Pick<HeddleClient, 'summary'>, name: string): Promise<string | undefined> {
  return reasonOf(await client.summary(name));
}

async function reasonOfStuck(temporal: Client, name: string): Promise<string | undefined> {
  const stuck = await findStuck(temporal, clusterWorkflowId(name));
  return stuck === undefined ? undefined : `its workflow task fails: ${stuck.failure}`;
}

/** Why a cluster is held or paused, or why its last operation failed. */
export function reasonOf({
  operation,
  history: [last],
}: Pick<ClusterStatus, 'operation' | 'history'>): string | undefined {
  if (operation?.state === 'held') return operation.reason;
  if (operation?.paused !== undefined) return `${operation.what} was paused by ${operation.paused.by}`;
  return operation === undefined && last?.state === 'failed' ? last.reason : undefined;
}

async function inTime<Answer>(answer: Promise<Answer>): Promise<Answer | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, reasonMs, undefined);
  });
  try {
    return await Promise.race([answer.catch(() => undefined), late]);
  } finally {
    clearTimeout(timer);
  }
}
