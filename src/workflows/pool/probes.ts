import { ActivityFailure, log } from '@temporalio/workflow';
import { poolWorkflowId } from '../../model/names.js';
import type { ProbeReply } from '../../model/node/probe.js';
import type { PoolNode } from '../../model/pool/node.js';
import { nodeHealthy, nodeRestarted } from '../../model/pool/outcome.js';
import { dueProbes, nodeSilent, nodeUnfit, nodeUnknown } from '../../model/pool/probe-first.js';
import type { PoolState } from '../../model/pool/state.js';
import { noteChange } from '../entity.js';
import { probeBatches } from '../probe-batches.js';
import { schedule } from '../schedule.js';
import type { PoolMemory } from './memory.js';
import { accountRef, probedNode } from '../../model/node/assigned-machine.js';

/**
 * How long a machine has to answer: the first time, while requests wait for it, and the second time; in ms.
 */
const answersWithinMs = { first: 2_000, second: 5_000 } as const;
/** Requests get their nodes unprobed after that, e.g. without a worker at the site. */
const budgetMs = 20_000;

type Which = keyof typeof answersWithinMs;

/** Begins probes of ready nodes that requests need and that were not seen to answer for a while. */
export function beginProbes(memory: PoolMemory, now: number): void {
  const due = dueProbes(memory.pool, (id) => memory.checking[keyOf(id)] === true, now);
  for (const which of ['first', 'second'] as const)
    for (const batch of probeBatches(due[which], ({ machine }) => machine)) void probe(memory, which, batch);
}

function keyOf(nodeId: string): string {
  return `probe of ${nodeId}`;
}

async function probe(memory: PoolMemory, which: Which, nodes: readonly PoolNode[]): Promise<void> {
  const { pool, checking } = memory;
  for (const { id } of nodes) checking[keyOf(id)] = true;
  const reply = await ask(pool, which, nodes).catch((error: unknown) => {
    if (!(error instanceof ActivityFailure)) throw error;
    log.warn(`${nodes.length} nodes could not be probed`, { why: error.cause?.message ?? error.message });
    return undefined;
  });
  for (const { id } of nodes) {
    delete checking[keyOf(id)];
    noteProbe(pool, which, id, reply);
  }
  noteChange(memory);
}

async function ask(
  pool: PoolState,
  which: Which,
  nodes: readonly PoolNode[],
): Promise<ProbeReply | undefined> {
  const placement = nodes[0]?.machine.placement;
  if (placement === undefined) return undefined;
  return schedule(
    'PROBE_NODES',
    {
      clusterId: poolWorkflowId(pool.name),
      provider: accountRef(placement),
      nodes: nodes.map(({ machine }) => probedNode(pool.uid, machine)),
      answersWithinMs: answersWithinMs[which],
    },
    { at: placement, summary: `PROBE_NODES ${nodes.length} ready nodes of ${placement.provider}`, budgetMs },
  );
}

function noteProbe(pool: PoolState, which: Which, id: string, reply: ProbeReply | undefined): void {
  const now = Date.now();
  const isUnknown = reply === undefined || reply.unknown.some(({ nodeId }) => nodeId === id);
  if (isUnknown) return nodeUnknown(pool, id, now);
  const seen = reply.observations.find(({ nodeId }) => nodeId === id);
  const keeps = pool.spec?.providerPools[pool.nodes[id]?.providerPool ?? '']?.keepUnwell === true;
  if (seen === undefined) nodeHealthy(pool, id, now);
  else if (seen.seen === 'rebooted' && keeps) nodeRestarted(pool, id, now);
  else if (seen.seen === 'unreachable' && which === 'first') nodeSilent(pool, id, seen.why, now);
  else nodeUnfit(pool, id, seen.why, now);
}
