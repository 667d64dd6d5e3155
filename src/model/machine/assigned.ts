import { machineWorkflowId } from '../names.js';
import type { AssignedMachine } from '../node/assigned-machine.js';
import type { MachineState } from './state.js';

/** Of a machine that was never moved. */
export const firstIncarnation = 1;

/** @throws Error where its account is not known yet: that would be a fault of ours. */
export function assignedMachine(state: MachineState): AssignedMachine {
  const { name, uid, owner, incarnation = firstIncarnation, registration, account, payload } = state;
  if (account === undefined) throw new Error(`${name} has no account yet`);
  const { provider, fields } = registration;
  const { type, site, flavor, image } = account;
  return {
    clusterId: owner ?? machineWorkflowId(name),
    uid,
    nodeId: name,
    incarnation,
    payload,
    placement: { provider, type, site, flavor, image, fields },
  };
}
