import type { Client } from '@temporalio/client';
import { keyIdField } from '../model/messages/payload-label.js';
import { call } from './call.js';
import { workerKeys } from './check-keys.js';

/** The data of a namespace that cannot be read without a key. */
export interface KeyUses {
  /** Ids of workflows that run and have payloads under it. */
  readonly open: readonly string[];
  /** Runs that ended, which the server still keeps. */
  readonly ended: number;
  readonly schedules: readonly string[];
  /** Workers that encrypt with it. */
  readonly workers: readonly string[];
}

export interface KeySearch {
  /** Also runs that ended. */
  readonly ended?: boolean;
  /**
   * Of workflows that run, all events and pending activities: only then is a key that is not found unused.
   */
  readonly whole?: boolean;
}

/** Workflows that are read at once. */
const atOnce = 20;

/**
 * Reads which keys a namespace uses, by their ids: of each run the memo, the first and the newest event
 * unless `whole` says more. Reading a month of ended runs wholly would take hours. @throws HeddleError
 * NoServer
 */
export async function findKeyUses(
  temporal: Client,
  search: KeySearch,
): Promise<ReadonlyMap<string, KeyUses>> {
  const uses = new Map<string, { open: string[]; ended: number; schedules: string[]; workers: string[] }>();
  const of = (id: string) => {
    const known = uses.get(id) ?? { open: [], ended: 0, schedules: [], workers: [] };
    uses.set(id, known);
    return known;
  };
  const { connection } = temporal;
  const { namespace } = temporal.options;
  for (const { id, worker } of await workerKeys({ connection, namespace })) of(id).workers.push(worker);
  for (const { scheduleId, keys } of await readSchedules(temporal))
    for (const id of keys) of(id).schedules.push(scheduleId);
  for await (const { workflowId, isOpen, keys } of readRuns(temporal, search))
    for (const id of keys)
      if (isOpen) of(id).open.push(workflowId);
      else of(id).ended += 1;
  return uses;
}

interface Run {
  readonly workflowId: string;
  readonly isOpen: boolean;
  readonly keys: ReadonlySet<string>;
}

async function* readRuns(temporal: Client, { ended, whole }: KeySearch): AsyncGenerator<Run> {
  const { namespace } = temporal.options;
  const query = ended === true ? '' : "ExecutionStatus = 'Running'";
  for (let nextPageToken: Uint8Array | undefined; nextPageToken === undefined || nextPageToken.length > 0;) {
    const token: Uint8Array | undefined = nextPageToken;
    const page = await call(temporal, 'workflows', () =>
      temporal.workflowService.listWorkflowExecutions({
        namespace,
        query,
        pageSize: 200,
        nextPageToken: token,
      }),
    );
    const found = page.executions ?? [];
    for (let from = 0; from < found.length; from += atOnce)
      yield* await Promise.all(
        found.slice(from, from + atOnce).map(async ({ execution, closeTime, memo }): Promise<Run> => {
          const { workflowId = '', runId } = execution ?? {};
          const run = { workflowId: workflowId ?? '', runId: runId ?? '' };
          const keys = keyIdsIn(memo);
          const isOpen = !closeTime;
          const read = isOpen && whole === true ? readWhole : readEnds;
          for (const id of await read(temporal, run)) keys.add(id);
          return { workflowId: run.workflowId, isOpen, keys };
        }),
      );
    nextPageToken = page.nextPageToken ?? new Uint8Array();
  }
}

interface Execution {
  readonly workflowId: string;
  readonly runId: string;
}

async function readWhole(temporal: Client, execution: Execution): Promise<ReadonlySet<string>> {
  const { namespace } = temporal.options;
  const { workflowService } = temporal;
  const keys = new Set<string>();
  const request = { namespace, execution };
  keyIdsIn(
    await call(temporal, execution.workflowId, () => workflowService.describeWorkflowExecution(request)),
    keys,
  );
  for (let nextPageToken: Uint8Array | undefined; nextPageToken === undefined || nextPageToken.length > 0;) {
    const token: Uint8Array | undefined = nextPageToken;
    const page = await call(temporal, execution.workflowId, () =>
      workflowService.getWorkflowExecutionHistory({ ...request, nextPageToken: token }),
    );
    keyIdsIn(page.history, keys);
    nextPageToken = page.nextPageToken ?? new Uint8Array();
  }
  return keys;
}

async function readEnds(temporal: Client, execution: Execution): Promise<ReadonlySet<string>> {
  const { workflowService } = temporal;
  const request = { namespace: temporal.options.namespace, execution, maximumPageSize: 1 };
  const [first, last] = await Promise.all([
    call(temporal, execution.workflowId, () => workflowService.getWorkflowExecutionHistory(request)),
    call(temporal, execution.workflowId, () => workflowService.getWorkflowExecutionHistoryReverse(request)),
  ]);
  return keyIdsIn([first.history, last.history]);
}

async function readSchedules(
  temporal: Client,
): Promise<readonly { readonly scheduleId: string; readonly keys: ReadonlySet<string> }[]> {
  const { namespace } = temporal.options;
  const { workflowService } = temporal;
  const { schedules } = await call(temporal, 'schedules', () =>
    workflowService.listSchedules({ namespace, maximumPageSize: 1_000 }),
  );
  return Promise.all(
    (schedules ?? []).map(async ({ scheduleId }) => ({
      scheduleId: scheduleId ?? '',
      keys: keyIdsIn(
        await call(temporal, 'schedules', () => workflowService.describeSchedule({ namespace, scheduleId })),
      ),
    })),
  );
}

/** The ids of keys in the metadata of all payloads of an answer of the server. */
export function keyIdsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return found;
  for (const [name, member] of Object.entries(value))
    if (name === keyIdField && member instanceof Uint8Array) found.add(Buffer.from(member).toString());
    else keyIdsIn(member, found);
  return found;
}
