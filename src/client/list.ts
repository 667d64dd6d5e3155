import type { Client } from '@temporalio/client';
import {
  clusterWorkflowType,
  machineWorkflowType,
  poolWorkflowType,
  searchAttributes,
} from '../model/names.js';
import { indexLabels, isLabel, labelRule, parseLabel, type Labels } from '../model/cluster/labels.js';
import { contracts } from '../model/messages/table.js';
import { call } from './call.js';
import { HeddleError } from './errors.js';
import { problemsAttribute } from './stuck.js';

/** A workflow as the server's index shows it; no worker is needed. */
export interface ListedWorkflow {
  readonly workflowId: string;
  /** The part of `<type>/<name>`. */
  readonly name: string;
  readonly phase?: string;
  /** Its workflow tasks fail: no worker can continue it. */
  readonly stuck?: true;
  /** Of a cluster: the provider accounts of its spec; empty while they are not indexed. */
  readonly providers: readonly string[];
  readonly labels?: Labels;
  /** RFC 3339. */
  readonly createdAt: string;
}

export type ClusterListing = Omit<ListedWorkflow, 'workflowId' | 'providers'>;
export type PoolListing = Pick<ListedWorkflow, 'name' | 'createdAt'>;

/**
 * The clusters that run and have all of the labels, by name. @throws HeddleError Invalid for an invalid
 * label.
 */
export async function listClusters(
  temporal: Client,
  labels: Labels = {},
): Promise<readonly ClusterListing[]> {
  const wrong = Object.entries(labels).find(([key, value]) => !isLabel(key, value));
  if (wrong !== undefined)
    throw new HeddleError('Invalid', `${wrong.join('=')} is not a valid label. It must be ${labelRule}`);
  const conditions = indexLabels(labels).map((label) => `${searchAttributes.labels} = '${label}'`);
  const running = await listWhere(temporal, [`WorkflowType = '${clusterWorkflowType}'`, ...conditions]);
  return running.map(({ name, createdAt, phase, stuck, labels: own }) => ({
    name,
    createdAt,
    phase,
    ...(stuck === undefined ? {} : { stuck }),
    labels: own,
  }));
}

/** The clusters that run and whose spec names the provider account, or whose accounts are not indexed. */
export async function listClustersOf(
  temporal: Client,
  account: string,
): Promise<readonly Pick<ListedWorkflow, 'name' | 'providers'>[]> {
  const running = await call(temporal, 'list', () => listRunning(temporal, clusterWorkflowType));
  return running.filter(({ providers }) => providers.length === 0 || providers.includes(account));
}

/** The pools that run, by name. */
export async function listPools(temporal: Client): Promise<readonly PoolListing[]> {
  const running = await call(temporal, 'pools', () => listRunning(temporal, poolWorkflowType));
  return running.map(({ name, createdAt }) => ({ name, createdAt }));
}

/** Names of the registered machines. */
export async function listMachineNames(temporal: Client): Promise<readonly string[]> {
  return (await listRunning(temporal, machineWorkflowType)).map(({ name }) => name);
}

/** The types of Heddle's workflows: the namespace may have those of others. */
export const heddleWorkflowTypes: readonly string[] = Object.keys(contracts);

/** Ids of all Heddle workflows that run. */
export async function listOpenWorkflows(temporal: Client): Promise<readonly string[]> {
  const running = await listRunning(temporal, ...heddleWorkflowTypes);
  return running.map(({ workflowId }) => workflowId);
}

/**
 * The workflows of these types that run, by name. Memos are not read: a single one in plaintext would make
 * the whole list fail.
 */
export function listRunning(
  temporal: Client,
  ...types: readonly string[]
): Promise<readonly ListedWorkflow[]> {
  return listWhere(temporal, [`WorkflowType IN (${types.map((type) => `'${type}'`).join(', ')})`]);
}

async function listWhere(
  temporal: Client,
  conditions: readonly string[],
): Promise<readonly ListedWorkflow[]> {
  const { namespace } = temporal.options;
  const query = [...conditions, "ExecutionStatus = 'Running'"].join(' AND ');
  const found = new Map<string, ListedWorkflow>();
  for (let nextPageToken: Uint8Array | undefined; nextPageToken === undefined || nextPageToken.length > 0;) {
    const page: Awaited<ReturnType<Client['workflowService']['listWorkflowExecutions']>> =
      await temporal.workflowService.listWorkflowExecutions({
        namespace,
        query,
        pageSize: 1_000,
        nextPageToken,
      });
    for (const { execution, startTime, searchAttributes: attributes } of page.executions) {
      const workflowId = execution?.workflowId ?? '';
      const startedMs = Number(startTime?.seconds ?? 0) * 1_000 + Number(startTime?.nanos ?? 0) / 1e6;
      found.set(workflowId, {
        workflowId,
        name: workflowId.slice(workflowId.indexOf('/') + 1),
        createdAt: new Date(startedMs).toISOString(),
        phase: readKeyword(attributes?.indexedFields?.[searchAttributes.phase]?.data),
        providers:
          readKeyword(attributes?.indexedFields?.[searchAttributes.provider]?.data)?.split(',') ?? [],
        ...(attributes?.indexedFields?.[problemsAttribute]?.data ? { stuck: true as const } : {}),
        labels: readLabels(attributes?.indexedFields?.[searchAttributes.labels]?.data),
      });
    }
    ({ nextPageToken } = page);
  }
  return [...found.values()].toSorted((one, other) => one.name.localeCompare(other.name));
}

/** The text of a search attribute; the server reads these, so they are never encrypted. */
export function readKeyword(data: Uint8Array | null | undefined): string | undefined {
  if (data === null || data === undefined) return undefined;
  const value: unknown = JSON.parse(Buffer.from(data).toString('utf8'));
  return typeof value === 'string' ? value : undefined;
}

/** Undefined for a workflow without labels. */
function readLabels(data: Uint8Array | null | undefined): Labels | undefined {
  if (data === null || data === undefined) return undefined;
  const found: unknown = JSON.parse(Buffer.from(data).toString('utf8'));
  // The server returns a list of one as the text alone.
  const texts: readonly unknown[] = Array.isArray(found) ? found : [found];
  const labels = texts.flatMap((text) => (typeof text === 'string' ? [parseLabel(text)] : []));
  const known = labels.filter((label) => label !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}
