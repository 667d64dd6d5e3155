import { groupWorkflowId, readMachineKey } from '../../model/names.js';
import {
  ownershipOf,
  wasAbandoned,
  type NamedMachine,
  type Ownership,
  withoutKeysOf,
} from '../../model/node/ownership.js';
import type { GroupMemory } from './group-executor.js';
import { groupOfNode } from './groups.js';
import type { Memory } from './memory.js';
import { change } from '../entity.js';

/** Whose machine is it, as the cluster's workflow knows? */
export function ownershipInCluster(memory: Memory, machine: NamedMachine): Ownership {
  const { name, uid, nodes, groups, counters, incarnation, operation, history } = memory.state;
  // Until the first plan is applied, machines of a previous run may still be adopted.
  if (counters.nodenum === 0) return { is: 'unsure' };
  const abandoned = wasAbandoned([...(operation === undefined ? [] : [operation]), ...history], machine);
  const group = groupOfNode(memory, readMachineKey(machine.key)?.nodeId ?? '');
  const known = group === undefined ? undefined : groups[group];
  if (group !== undefined && known !== undefined) {
    // Its workflow can no longer say; or a pending instruction may assign this very node to the group.
    if (known.lost === true || known.pending.length > 0 || known.sent !== known.seen) return { is: 'unsure' };
    return { is: 'elsewhere', workflowId: groupWorkflowId(name, group), ...(abandoned ? { abandoned } : {}) };
  }
  const found = ownershipOf({ nodes, uid, incarnation }, machine);
  return found.is === 'free' && abandoned ? { is: 'abandoned' } : found;
}

/**
 * The sweep is about to delete these machines, so their keys must not be used again, not even after a reset.
 */
export function disown(memory: Memory, machines: readonly NamedMachine[]): readonly Ownership[] {
  change(memory, withoutKeysOf(machines, memory.state));
  return machines.map((machine) => ownershipInCluster(memory, machine));
}

export function ownershipInGroup({ state, inbox }: GroupMemory, machine: NamedMachine): Ownership {
  return inbox.length > 0 ? { is: 'unsure' } : ownershipOf({ ...state, uid: state.clusterUid }, machine);
}

export function disownInGroup(memory: GroupMemory, machines: readonly NamedMachine[]): readonly Ownership[] {
  change(memory, withoutKeysOf(machines, { ...memory.state, uid: memory.state.clusterUid }));
  return machines.map((machine) => ownershipInGroup(memory, machine));
}
