import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { MachineIntent, MachineView } from '../../model/machine/machine.js';

/** Everything a machine's workflow can be asked. */
export const operateMachineUpdate = defineUpdate<MachineReply, [MachineRequest]>('operate');
export const cancelMachineUpdate = defineUpdate<MachineReply, [{ readonly by: string }]>('cancel');
export const machineQuery = defineQuery<MachineView>('status');

export interface MachineRequest {
  readonly intent: MachineIntent;
  readonly by: string;
}

export interface MachineReply {
  readonly operation: string;
}
