import type { ServiceSpec } from '../../model/spec.js';
import type { Step } from '../../model/plan/plan.js';
import type { TaskRequest } from '../../model/messages.js';
import { poolWorkflowId } from '../../model/names.js';
import { placementFor } from '../../model/pool/library.js';
import { changePoolNode } from '../../model/pool/state.js';
import type { NodeOwner } from '../run-node.js';
import type { PoolMemory } from './memory.js';

export interface Errand {
  readonly nodeId: string;
  /** Part of the ids of its tasks. */
  readonly operation: string;
  readonly command?: TaskRequest['command'];
  readonly isOver: () => boolean;
}

/** A pool as the owner of one of its nodes. There are no gates, no turns and no peers. */
export function poolOwner(memory: PoolMemory, { nodeId, operation, command, isOver }: Errand): NodeOwner {
  const { pool } = memory;
  const nobody = (): void => undefined;
  // A person may have it forgotten while it is worked on: that work comes to its end all the same.
  let last = pool.nodes[nodeId]?.machine;
  const node: NodeOwner['node'] = () => {
    last = pool.nodes[nodeId]?.machine ?? last;
    if (last === undefined) throw new Error(`there is no node ${nodeId}`);
    return last;
  };
  const { providerPool = '', label = '' } = pool.nodes[nodeId] ?? {};
  const placement = placementFor(pool, providerPool, label);
  return {
    operation,
    node,
    launches: 1,
    placements: placement === undefined ? [] : [placement],
    change: (change) =>
      changePoolNode(pool, nodeId, (before) => ({ ...before, machine: change(before.machine) })),
    announce: nobody,
    position: () => 0,
    passed: nobody,
    waitFor: () => Promise.resolve(!memory.draining && !isOver()),
    leaveTurn: nobody,
    takePlace: async (step) => takePlace(memory, step, isOver),
    givePlaceBack: (step) => placesFor(memory, step).giveBack(),
    spend: (size) => memory.budget.spend(size),
    stepDone: nobody,
    addTasks: nobody,
    stepFailed: nobody,
    // A node of a pool gets one machine in its life, and its number is never given again.
    nextIncarnation: () => 1,
    service: (): ServiceSpec | undefined => undefined,
    taskBase: () => ({
      clusterId: poolWorkflowId(pool.name),
      clusterUid: pool.uid,
      cluster: {},
      peersOf: poolWorkflowId(pool.name),
      peersVersion: 0,
      command,
    }),
    now: () => new Date(Date.now()).toISOString(),
  };
}

async function takePlace(memory: PoolMemory, step: Step, isOver: () => boolean): Promise<boolean> {
  const places = placesFor(memory, step);
  if (memory.draining || isOver() || !(await places.take())) return false;
  // Ended while it waited for its place.
  if (!memory.draining && !isOver()) return true;
  places.giveBack();
  return false;
}

function placesFor({ places, looks }: PoolMemory, { action }: Step): PoolMemory['places'] {
  return action === 'CONFIRM' ? looks : places;
}
