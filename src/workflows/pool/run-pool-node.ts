import type { Step } from '../../model/plan/plan.js';
import type { TaskRequest } from '../../model/node/task-request.js';
import { poolWorkflowId } from '../../model/names.js';
import { placementFor } from '../../model/pool/library.js';
import { lacksRoom } from '../../model/pool/room.js';
import { changePoolNode } from '../../model/pool/state.js';
import { runNode, type ChainEnd, type NodeHooks } from '../run-node.js';
import type { CarriedNode } from '../task-request.js';
import type { PoolMemory } from './memory.js';
import { permitsFor } from './permits.js';

export interface NodeWork {
  readonly nodeId: string;
  /** Part of the ids of its tasks. */
  readonly operation: string;
  readonly command?: TaskRequest['command'];
}

/** A node of a pool, for its tasks. It has one machine in its life, no services and no peers. */
export function poolNode({ pool }: PoolMemory, { nodeId, operation, command }: NodeWork): CarriedNode {
  // Work on a node that a person abandons still comes to its end.
  let last = pool.nodes[nodeId]?.machine;
  const { providerPool = '', label = '' } = pool.nodes[nodeId] ?? {};
  const placement = placementFor(pool, providerPool, label);
  return {
    operation,
    launches: 1,
    placements: placement === undefined ? [] : [placement],
    state: () => {
      last = pool.nodes[nodeId]?.machine ?? last;
      if (last === undefined) throw new Error(`node ${nodeId} does not exist`);
      return last;
    },
    change: (change) =>
      changePoolNode(pool, nodeId, (before) => ({ ...before, machine: change(before.machine) })),
    taskBase: () => ({
      clusterId: poolWorkflowId(pool.name),
      clusterUid: pool.uid,
      cluster: {},
      peersOf: poolWorkflowId(pool.name),
      peersVersion: 0,
      command,
      absenceConfirmedAt: pool.absenceConfirmedAt,
    }),
  };
}

/** Runs the chain of a node of a pool, until `isOver`, until the run drains or the pool is exported. */
export async function runPoolNode(
  memory: PoolMemory,
  work: NodeWork & { readonly isOver: () => boolean },
  chain: readonly Step[],
  hooks: Partial<Pick<NodeHooks, 'stepFailed'>> = {},
): Promise<ChainEnd> {
  const isStopped = (): boolean => memory.draining || memory.pool.exported !== undefined || work.isOver();
  const { providerPool = '' } = memory.pool.nodes[work.nodeId] ?? {};
  return runNode(poolNode(memory, work), chain, {
    ...hooks,
    stepDone: ({ action }) => {
      if (action === 'CREATE') note(memory, work.nodeId, 'acceptedAt');
    },
    beginStep: () => Promise.resolve(!isStopped()),
    lacksRoom: (payload) => lacksRoom(memory.pool, work.nodeId, payload),
    acquire: async ({ action }) => {
      const permits =
        action === 'CONFIRM'
          ? memory.checks
          : permitsFor(memory, providerPool, action === 'DELETE' ? 'delete' : 'build');
      if (isStopped() || !(await permits.take(work.nodeId))) return undefined;
      if (!isStopped()) {
        if (action === 'CREATE') note(memory, work.nodeId, 'askedAt');
        return () => permits.release();
      }
      permits.release();
      return undefined;
    },
  });
}

function note({ pool }: PoolMemory, nodeId: string, what: 'askedAt' | 'acceptedAt'): void {
  changePoolNode(pool, nodeId, (node) => ({ ...node, [what]: node[what] ?? Date.now() }));
}
