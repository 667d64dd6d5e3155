import { imageRefOf } from '../../model/image/build.js';
import type { MachineAction } from '../../model/machine/actions.js';
import type { CaptureOwner, MachineOrder, MachineTaskOutcome } from '../../model/machine/messages.js';
import { imageWorkflowId, machineKey, uploadId, uploadToken } from '../../model/names.js';
import { scheduleMachineTask } from '../schedule.js';
import { machineTask } from '../task-request.js';
import { now } from '../entity.js';
import { buildOf, type ImageMemory } from './memory.js';

export interface At {
  readonly site: string;
  /** Absent: no provider has a part in it. */
  readonly provider?: string;
  readonly type?: string;
}

/** One task about a build's image that needs no machine. */
export async function runLibraryTask(
  memory: ImageMemory,
  number: number,
  action: MachineAction,
  { site, provider = '-', type = '-' }: At,
  order: Partial<MachineOrder> = {},
): Promise<MachineTaskOutcome> {
  const { name, uid } = memory.state;
  memory.tasks += 1;
  const nodeId = uploadId(name, number);
  // Of two tasks of one action, the later one has a higher number, also after a continue-as-new.
  const operation = `${provider}.${Date.now()}.${memory.tasks}`;
  return scheduleMachineTask(
    action,
    {
      ...machineTask(
        {
          clusterId: imageWorkflowId(name),
          uid,
          nodeId,
          incarnation: 1,
          payload: {},
          placement: { provider, type, fields: {} },
        },
        { action, operation },
      ),
      order: {
        at: now(),
        image: imageRefOf(name, buildOf(memory, number)),
        token: uploadToken(uid, number, provider),
        ...order,
      },
    },
    { site, provider },
  );
}

/** A capture is found as an upload of the same build is. */
export function captureOwnerOf({ state: { name, uid } }: ImageMemory, number: number): CaptureOwner {
  return { cluster: imageWorkflowId(name), key: machineKey(uid, uploadId(name, number), 1) };
}
