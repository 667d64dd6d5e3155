import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import { milliseconds } from '../../model/milliseconds.js';
import type { EngineKind } from '../../model/node/failure.js';
import { cleanUpFailed, launchFailed, nodeCleaned, nodeGone } from '../../model/pool/outcome.js';
import { changePoolNode, type PoolState } from '../../model/pool/state.js';
import type { PoolNode } from '../../model/pool/node.js';
import { beginBatches, mayBatch, type BatchKind } from './batch.js';
import { endBuild, endDelete } from './results.js';
import { noteChange } from '../entity.js';
import type { PoolMemory, Work } from './memory.js';
import { deleteBudgetMs, permitsFor } from './permits.js';
import { poolNode, runPoolNode } from './run-pool-node.js';
import { noteReplayOfWork } from './replay-budget.js';

/** Begun in one workflow task at most: a long one would be taken for a dead one. */
const atOnce = 50;
/** While this many machines are being made for waiting requests, deletions wait. */
const busyBuilding = 20;

/**
 * Begins the work that each node's state requires, and ends work that it no longer requires. Decides from
 * state alone, so a new run continues it. Returns false if there is more to begin.
 */
export function beginWork(memory: PoolMemory, now: number): boolean {
  const { pool, work } = memory;
  const nodes = Object.values(pool.nodes);
  // Deletes come first while requests wait for capacity.
  const defersDeletes =
    nodes.filter(({ state }) => state === 'building').length > busyBuilding &&
    !Object.values(pool.requests).some(({ state }) => state === 'requested');
  const batches: Record<BatchKind, string[]> = { build: [], delete: [] };
  let begun = 0;
  let isAllBegun = true;
  for (const node of nodes) {
    if (node.backing !== undefined) continue;
    const underWay = work[node.id];
    const due = dueWork(pool, node, now);
    if (underWay !== undefined) {
      if (underWay.kind !== due && underWay.kind !== 'delete') underWay.cancel();
      continue;
    }
    if (due === undefined || (due === 'delete' && defersDeletes)) continue;
    if (begun === atOnce) {
      isAllBegun = false;
      break;
    }
    if (!mayBatch(memory, node, due)) startWork(memory, node.id, due);
    // Without a permit, the work begins after other work has ended.
    else if (permitsFor(memory, node.providerPool, due).takeNow()) batches[due].push(node.id);
    else continue;
    begun += 1;
  }
  beginDueBatches(memory, batches);
  return isAllBegun;
}

function beginDueBatches(memory: PoolMemory, batches: Readonly<Record<BatchKind, readonly string[]>>): void {
  for (const kind of ['build', 'delete'] as const) {
    const ids = batches[kind];
    const [first, ...others] = ids;
    if (first === undefined) continue;
    if (others.length > 0) {
      beginBatches(memory, kind, ids);
      continue;
    }
    const { providerPool = '' } = memory.pool.nodes[first] ?? {};
    permitsFor(memory, providerPool, kind).release();
    startWork(memory, first, kind);
  }
}

function dueWork(
  { spec }: PoolState,
  { state, label, againAt = 0 }: PoolNode,
  now: number,
): Work['kind'] | undefined {
  switch (state) {
    case 'building':
      return 'build';
    case 'used':
      return spec?.labels[label]?.cleanUp === undefined ? undefined : 'clean';
    case 'deleting':
      return againAt <= now ? 'delete' : undefined;
    default:
      return undefined;
  }
}

const workFunctions = { build, clean, delete: remove } as const;

function startWork(memory: PoolMemory, id: string, kind: Work['kind']): void {
  const scope = new CancellationScope({ cancellable: true });
  noteReplayOfWork(memory, 'alone');
  memory.work[id] = { kind, cancel: () => scope.cancel() };
  scope
    .run(() => workFunctions[kind](memory, id, () => scope.consideredCancelled))
    .catch((error: unknown) => {
      if (!isCancellation(error)) throw error;
    })
    .finally(() => {
      delete memory.work[id];
      delete memory.alone[id];
      noteChange(memory);
    });
}

async function build(memory: PoolMemory, nodeId: string, isOver: () => boolean): Promise<void> {
  const { pool } = memory;
  const againMs = memory.alone[nodeId];
  if (againMs !== undefined) await sleep(againMs);
  const work = { nodeId, operation: 'launch', isOver };
  const node = poolNode(memory, work);
  if (node.placements?.length === 0 && node.state().facts.machine === undefined) {
    return launchFailed(
      pool,
      nodeId,
      { kind: 'Invalid', message: 'its label is no longer served there' },
      Date.now(),
    );
  }
  const end = await runPoolNode(memory, work, [{ action: 'CREATE' }, { action: 'CONFIRM' }]);
  if (end === 'done') endBuild(pool, nodeId);
  if (end === 'failed') endBuild(pool, nodeId, failureOf(pool, nodeId));
}

async function clean(memory: PoolMemory, nodeId: string, isOver: () => boolean): Promise<void> {
  const { pool } = memory;
  const node = pool.nodes[nodeId];
  const cleanUp = pool.spec?.labels[node?.label ?? '']?.cleanUp;
  if (node === undefined || cleanUp === undefined) return;
  const { script, sudo, timeout } = cleanUp;
  const timeoutMs = timeout === undefined ? undefined : milliseconds(timeout);
  const command = { text: script, sudo, timeoutMs };
  changePoolNode(pool, nodeId, (before) => ({ ...before, machine: { ...before.machine, runs: {} } }));
  const work = { nodeId, operation: `use-${node.handedOut}`, command, isOver };
  let why = noReason;
  const end = await runPoolNode(memory, work, [{ action: 'EXEC' }], {
    stepFailed: (_step, { message }) => {
      why = message;
    },
  });
  if (end === 'done') nodeCleaned(pool, nodeId, Date.now());
  if (end === 'failed') cleanUpFailed(pool, nodeId, why, Date.now());
}

async function remove(memory: PoolMemory, nodeId: string, isOver: () => boolean): Promise<void> {
  const { pool } = memory;
  const node = pool.nodes[nodeId];
  // Nothing was ever asked for.
  if (node?.machine.facts.machine === undefined) return nodeGone(pool, nodeId, Date.now());
  const againMs = memory.alone[nodeId];
  if (againMs !== undefined) await sleep(againMs);
  changePoolNode(pool, nodeId, (before) => ({ ...before, machine: withoutFailure(before.machine) }));
  const end = await runPoolNode(memory, { nodeId, operation: 'delete', isOver }, [
    { action: 'DELETE', withinMs: deleteBudgetMs(memory, node.machine) },
  ]);
  if (end === 'done') endDelete(pool, nodeId);
  if (end === 'failed') endDelete(pool, nodeId, failureOf(pool, nodeId));
}

const noReason = 'no reason was given';

function failureOf(
  { nodes }: PoolState,
  nodeId: string,
): { readonly kind: string; readonly message: string } {
  return nodes[nodeId]?.machine.failure ?? { kind: 'Internal' satisfies EngineKind, message: noReason };
}

function withoutFailure({ failure: _failure, ...machine }: PoolNode['machine']): PoolNode['machine'] {
  return machine;
}
