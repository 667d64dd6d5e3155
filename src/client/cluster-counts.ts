import type { Client } from '@temporalio/client';
import pLimit from 'p-limit';
import { clusterWorkflowType, searchAttributes } from '../model/names.js';
import { clusterPhases, type ClusterStatus } from '../schema/output/status.js';
import { clusterMessages } from '../workflows/messages.js';
import { heddleWorkflowTypes } from './list.js';
import { read } from './read.js';
import { problemsAttribute } from './stuck.js';

type Phase = ClusterStatus['phase'];

const running = `WorkflowType = '${clusterWorkflowType}' AND ExecutionStatus = 'Running'`;
const deadlineMs = 10_000;

/**
 * Clusters by phase, from the server's index: a small query for each phase, however many clusters there are.
 * The server groups counts by status only.
 */
export async function countClusters(temporal: Client): Promise<Readonly<Record<Phase, number>>> {
  const counts = await Promise.all(
    clusterPhases.map(
      async (phase) =>
        [phase, await count(temporal, `${running} AND ${searchAttributes.phase} = '${phase}'`)] as const,
    ),
  );
  return Object.fromEntries(counts) as Record<Phase, number>;
}

function count(temporal: Client, query: string): Promise<number> {
  return inTime(temporal, async () => (await temporal.workflow.count(query)).count);
}

function inTime<Result>(temporal: Client, make: () => Promise<Result>): Promise<Result> {
  return temporal.withDeadline(Date.now() + deadlineMs, make);
}

/**
 * Clusters whose causes are read in one call, so many at a time, and how long a cause is remembered, in ms.
 */
const readPerCall = 50;
const atOnce = 4;
const rememberedMs = 10 * 60_000;

/** Cause of clusters that have not been asked yet, or did not answer. */
const unknownCause = 'unknown';

/** Counts held clusters by the kind of the failure that holds them. */
type CountHeld = (temporal: Client) => Promise<Readonly<Record<string, number>>>;

/**
 * Only the workflows know the cause. Each is asked once, and again after ten minutes, those that wait longest
 * first. With a call every 30 seconds, a worker asks at most two clusters a second, and each worker asks for
 * itself.
 */
export function createCountHeld(now = Date.now): CountHeld {
  let known = new Map<string, { readonly cause: string; readonly until: number }>();
  return async (temporal) => {
    const ids = await listHeld(temporal);
    const untilOf = (id: string): number => known.get(id)?.until ?? 0;
    const due = ids
      .filter((id) => untilOf(id) <= now())
      .toSorted((one, other) => untilOf(one) - untilOf(other))
      .slice(0, readPerCall);
    const limit = pLimit(atOnce);
    const found = new Map(
      await Promise.all(
        due.map((id) =>
          limit(async () => [id, await readCause(temporal, id).catch(() => unknownCause)] as const),
        ),
      ),
    );
    const causeOf = (id: string): string => found.get(id) ?? known.get(id)?.cause ?? unknownCause;
    known = new Map(
      ids.map((id) => {
        const until = found.has(id) ? now() + rememberedMs : untilOf(id);
        return [id, { cause: causeOf(id), until }];
      }),
    );
    return tally(ids.map(causeOf));
  };
}

async function listHeld(temporal: Client): Promise<readonly string[]> {
  const query = `${running} AND ${searchAttributes.phase} = 'held'`;
  return (await list(temporal, query)).map(({ execution }) => execution?.workflowId ?? '');
}

async function readCause(temporal: Client, workflowId: string): Promise<string> {
  const { operation } = await inTime(temporal, () =>
    read(temporal.workflow.getHandle(workflowId), clusterMessages.queries.status),
  );
  return causeOfHeld(operation);
}

/**
 * The kind of the failure that holds an operation; `other` if none does, as after a plan that no longer fits.
 */
export function causeOfHeld(operation: ClusterStatus['operation']): string {
  const { failures = [] } = operation ?? {};
  return (failures.find(({ tolerated }) => tolerated !== true) ?? failures[0])?.kind ?? 'other';
}

/** Workflows of Heddle that no worker can continue, by cause: why their workflow tasks fail. */
export async function countStuck(temporal: Client): Promise<Readonly<Record<string, number>>> {
  const types = heddleWorkflowTypes.map((type) => `'${type}'`).join(', ');
  const found = await list(
    temporal,
    `${problemsAttribute} IS NOT NULL AND ExecutionStatus = 'Running' AND WorkflowType IN (${types})`,
  );
  return tally(
    found.map(({ searchAttributes: attributes }) =>
      causeOfStuck(attributes?.indexedFields?.[problemsAttribute]?.data),
    ),
  );
}

/** From `["category=WorkflowTaskFailed","cause=WorkflowTaskFailedCauseNonDeterministicError"]`. */
export function causeOfStuck(data: Uint8Array | null | undefined): string {
  if (data === null || data === undefined) return unknownCause;
  const words: unknown = JSON.parse(Buffer.from(data).toString('utf8'));
  const texts: readonly unknown[] = Array.isArray(words) ? words : [words];
  const cause = texts.map(String).find((word) => word.startsWith('cause='));
  return cause?.slice('cause='.length).replace(/^WorkflowTaskFailedCause/, '') ?? unknownCause;
}

type Page = Awaited<ReturnType<Client['workflowService']['listWorkflowExecutions']>>;

/** The first thousand; beyond that a figure tells no more. */
async function list(temporal: Client, query: string): Promise<Page['executions']> {
  const { namespace } = temporal.options;
  const { executions } = await inTime(temporal, () =>
    temporal.workflowService.listWorkflowExecutions({ namespace, query, pageSize: 1_000 }),
  );
  return executions;
}

function tally(words: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
