import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { MachineView } from '../../schema/output/machine.js';
import type { MachineAccess } from '../../model/machine/access.js';
import type { UnneededLoad } from '../../model/machine/decide.js';
import type { Knowledge } from '../../model/machine/answer.js';
import type { ImageRef } from '../../model/machine/image.js';
import type { MachineIntent } from '../../model/machine/state.js';

/** Everything a machine's workflow can be asked. */
export const operateMachineUpdate = defineUpdate<MachineReply, [MachineRequest]>('operate');
export const cancelMachineUpdate = defineUpdate<MachineReply, [{ readonly by: string }]>('cancel');
/** Ends the load of a request that is no longer needed, unless it writes: a write is left to end. */
export const stopUnneededUpdate = defineUpdate<UnneededLoad, [{ readonly key: string }]>('stopUnneeded');
/** Whether an image is where the machine could have it written from; it need not be doing nothing. */
export const askImageUpdate = defineUpdate<Knowledge, [ImageRef]>('askImage');
export const machineQuery = defineQuery<MachineView>('status');
/**
 * How the machine's user logs in. Null where the machine is not the reservation's, or is not open to its
 * user.
 */
export const accessQuery = defineQuery<MachineAccess | null, [AccessRequest]>('access');

export interface AccessRequest {
  /** Absent for a user that an administrator let in. */
  readonly reservation?: string;
}

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
