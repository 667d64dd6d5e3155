import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { Knowledge } from '../../model/machine/answer.js';
import type { ImageRef } from '../../model/machine/image.js';
import type { MachineIntent, MachineView } from '../../model/machine/machine.js';

/** Everything a machine's workflow can be asked. */
export const operateMachineUpdate = defineUpdate<MachineReply, [MachineRequest]>('operate');
export const cancelMachineUpdate = defineUpdate<MachineReply, [{ readonly by: string }]>('cancel');
/** Whether an image is where the machine could have it written from; it need not be doing nothing. */
export const askImageUpdate = defineUpdate<Knowledge, [ImageRef]>('askImage');
export const machineQuery = defineQuery<MachineView>('status');

export interface MachineRequest {
  readonly intent: MachineIntent;
  readonly by: string;
  /** The reservation that asks. */
  readonly holder?: string;
  /** Of several requests with this name only the first counts. */
  readonly key?: string;
}

export interface MachineReply {
  readonly operation: string;
}
