import { ApplicationFailure, CancellationScope, isCancellation } from '@temporalio/workflow';
import type { TaskOutcome, TaskRequest } from '../../model/node/task-request.js';
import { runKey, type TaskRun } from '../../model/node/run.js';
import type { NodeState } from '../../model/node/state.js';
import { mergePayload } from '../../model/node/payload.js';
import { machinePartOf } from '../../model/node/result-table.js';
import type { PlannedPlacement } from '../../model/node/placement.js';
import { chunksOf } from '../../model/chunks.js';
import { placementFor } from '../../model/pool/library.js';
import type { PoolNode } from '../../model/pool/node.js';
import { changePoolNode } from '../../model/pool/state.js';
import { recordBegun, recordDone, recordMachine } from '../../model/node/record.js';
import { maxBatchSize, batchName, type BatchAction, type BatchResult } from '../../model/node/batch.js';
import { schedule } from '../schedule.js';
import { lacksRoom } from '../../model/pool/room.js';
import { readTaskFailure, type TaskFailure } from '../task-failure.js';
import { requestFor } from '../task-request.js';
import { endBuild, endDelete } from './results.js';
import { noteChange } from '../entity.js';
import type { PoolMemory } from './memory.js';
import type { Semaphore } from '../permits.js';
import { deleteBudgetMs, permitsFor } from './permits.js';
import { poolNode } from './run-pool-node.js';
import { noteReplayOfWork } from './replay-budget.js';

/** What nodes that are carried together are carried for. */
export type BatchKind = 'build' | 'delete';

const actions = { build: 'CREATE', delete: 'DELETE' } as const satisfies Record<BatchKind, BatchAction>;
const operations = { build: 'launch', delete: 'delete' } as const;

/**
 * Whether the next task of a node can be carried with those of others: the first of its life, or the last.
 */
export function mayBatch({ pool, alone }: PoolMemory, node: PoolNode, kind: string): kind is BatchKind {
  if (alone[node.id] !== undefined) return false;
  const { facts, placement } = node.machine;
  if (kind === 'delete')
    return facts.machine !== undefined && pool.batchedAccounts?.includes(placement?.provider ?? '') === true;
  if (kind !== 'build' || facts.CREATE === true) return false;
  const provider =
    facts.machine === undefined
      ? placementFor(pool, node.providerPool, node.label)?.provider
      : placement?.provider;
  return provider !== undefined && pool.batchedAccounts?.includes(provider) === true;
}

/**
 * Carries one task of each of several nodes in few activities, and takes their ends up in one go. A promise
 * for each node costs a workflow thread more than all that is decided about the node, and costs it again
 * whenever the history is replayed.
 */
export function beginBatches(memory: PoolMemory, kind: BatchKind, ids: readonly string[]): void {
  const now = new Date(Date.now()).toISOString();
  const members = ids.map((id) => prepare(memory, kind, { id, now }));
  for (const batch of batchesOf(members)) beginBatch(memory, kind, batch);
}

interface Member {
  readonly id: string;
  readonly request: TaskRequest;
  readonly placement: NonNullable<NodeState['placement']>;
  readonly permits: Semaphore;
  readonly budgetMs: number | undefined;
}

function prepare(
  memory: PoolMemory,
  kind: BatchKind,
  { id, now }: { readonly id: string; readonly now: string },
): Member {
  const { pool } = memory;
  const { providerPool = '', label = '' } = pool.nodes[id] ?? {};
  const action = actions[kind];
  const run: TaskRun = { number: 1 };
  changePoolNode(pool, id, ({ machine: { failure: _failure, ...machine }, ...node }) => {
    const begun =
      machine.facts.machine === undefined
        ? recordMachine(machine, placed(placementFor(pool, providerPool, label), id))
        : machine;
    return {
      ...node,
      askedAt: node.askedAt ?? Date.now(),
      machine: {
        ...begun,
        runs: { ...begun.runs, [runKey({ action })]: run },
        current: { action, state: 'running', since: now },
      },
    };
  });
  const node = poolNode(memory, { nodeId: id, operation: operations[kind] });
  const state = node.state();
  const { placement } = state;
  if (placement === undefined) throw new Error(`${id} has no placement`);
  // Before the step is recorded as begun: the request says whether an earlier CREATE was.
  const request = requestFor(node, { action }, run);
  if (kind === 'build') node.change((machine) => recordBegun(machine, { action }));
  return {
    id,
    placement,
    permits: permitsFor(memory, providerPool, kind),
    request,
    budgetMs: kind === 'build' ? placement.launchWithinMs : deleteBudgetMs(memory, state),
  };
}

function placed(placement: PlannedPlacement | undefined, id: string): PlannedPlacement {
  if (placement === undefined) throw new Error(`no placement for ${id}`);
  return placement;
}

/** Tasks of one account, in numbers that are much alike. */
function batchesOf(members: readonly Member[]): readonly (readonly Member[])[] {
  const alike: Record<string, Member[]> = {};
  for (const member of members) {
    const { site, provider, launchWithinMs = 0 } = member.placement;
    (alike[`${site}/${provider}/${launchWithinMs}/${member.budgetMs ?? 0}`] ??= []).push(member);
  }
  return Object.values(alike).flatMap((all) =>
    chunksOf(all, Math.ceil(all.length / Math.ceil(all.length / maxBatchSize))),
  );
}

function beginBatch(memory: PoolMemory, kind: BatchKind, members: readonly Member[]): void {
  const scope = new CancellationScope({ cancellable: true });
  let wanted = members.length;
  for (const { id } of members) {
    let isWanted = true;
    const cancel = (): void => {
      if (!isWanted) return;
      isWanted = false;
      wanted -= 1;
      // The batch ends when all of its nodes are cancelled; it is short.
      if (wanted === 0) scope.cancel();
    };
    noteReplayOfWork(memory, 'batch');
    memory.work[id] = { kind, cancel, inBatch: true };
  }
  const over = (settle: (member: Member, index: number) => void): void => {
    for (const [index, member] of members.entries()) {
      member.permits.release();
      delete memory.work[member.id];
      settle(member, index);
    }
    noteChange(memory);
  };
  scope
    .run(() => perform(kind, members))
    .then(
      (ends) => {
        over((member, index) => settleEnd(memory, kind, member, ends[index]));
      },
      (error: unknown) => {
        over((member) =>
          isCancellation(error)
            ? clearCurrent(memory, member.id)
            : settleFailure(memory, kind, member, error),
        );
      },
    );
}

async function perform(kind: BatchKind, members: readonly Member[]): Promise<readonly BatchResult[]> {
  const [first] = members;
  if (first === undefined) return [];
  const requests = members.map(({ request }) => request);
  const action = actions[kind];
  const { placement, budgetMs } = first;
  return schedule(
    batchName(action),
    { requests },
    { at: placement, summary: `${action} ${requests.length} nodes`, budgetMs },
  );
}

function settleEnd(memory: PoolMemory, kind: BatchKind, member: Member, end: BatchResult | undefined): void {
  if (end === undefined)
    return settleFailure(memory, kind, member, new Error('the activity returned no result for a task'));
  if ('cancelled' in end) return clearCurrent(memory, member.id);
  if ('outcome' in end) return settleOutcome(memory, kind, member, end);
  const { kind: failed, message, details, againMs } = end.failure;
  if (againMs === undefined)
    return settleFailure(memory, kind, member, ApplicationFailure.nonRetryable(message, failed, details));
  // It is tried again by itself, after that.
  changePoolNode(memory.pool, member.id, (node) => ({ ...node, why: message }));
  memory.alone[member.id] = againMs;
  clearCurrent(memory, member.id);
}

function settleOutcome(
  memory: PoolMemory,
  kind: BatchKind,
  member: Member,
  { outcome, confirmed }: { readonly outcome: TaskOutcome; readonly confirmed?: TaskOutcome },
): void {
  const { id } = member;
  const before = memory.pool.nodes[id]?.machine.payload ?? {};
  const payload = [outcome, confirmed].reduce((all, one) => mergePayload(all, one?.result ?? {}), before);
  const full = lacksRoom(memory.pool, id, payload);
  if (full !== undefined) {
    const details = { result: machinePartOf(payload) };
    return settleFailure(memory, kind, member, ApplicationFailure.nonRetryable(full, 'Invalid', details));
  }
  const occasion = { operation: operations[kind], peers: 0 };
  changePoolNode(memory.pool, id, ({ machine: { current: _current, ...machine }, ...node }) => {
    const done = recordDone(machine, { action: actions[kind] }, outcome.result ?? {}, occasion);
    return {
      ...node,
      acceptedAt: node.acceptedAt ?? Date.now(),
      machine:
        confirmed?.result === undefined
          ? done
          : recordDone(done, { action: 'CONFIRM' }, confirmed.result, occasion),
    };
  });
  if (kind === 'delete') return endDelete(memory.pool, id);
  // A machine that is not ready at once is confirmed by a task of its own.
  if (confirmed?.result !== undefined) endBuild(memory.pool, id);
}

function settleFailure(memory: PoolMemory, kind: BatchKind, { id, request }: Member, error: unknown): void {
  const { record, result }: TaskFailure = readTaskFailure(
    error,
    { taskId: request.taskId, action: actions[kind] },
    new Date(Date.now()).toISOString(),
  );
  changePoolNode(memory.pool, id, ({ machine: { current: _current, ...machine }, ...node }) => ({
    ...node,
    machine: { ...machine, payload: mergePayload(machine.payload, machinePartOf(result)), failure: record },
  }));
  if (kind === 'delete') endDelete(memory.pool, id, record);
  else endBuild(memory.pool, id, record);
}

/** What is done with it now, its state says. */
function clearCurrent({ pool }: PoolMemory, id: string): void {
  changePoolNode(pool, id, ({ machine: { current: _current, ...machine }, ...node }) => ({
    ...node,
    machine,
  }));
}
