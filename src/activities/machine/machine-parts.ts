import type { MachineAction, MachineActionRow } from '../../model/machine/actions.js';
import type { MachineTaskRequest, MachineTaskOutcome } from '../../model/machine/messages.js';
import type { Task } from '../../model/task.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';

/** One attempt of one machine action, with all that it is about. */
export interface MachineCall {
  readonly parts: ActivityParts;
  readonly action: MachineAction;
  readonly row: MachineActionRow;
  readonly task: Task;
  readonly request: MachineTaskRequest;
  readonly attempt: Attempt;
}

export type Handler = (call: MachineCall) => Promise<MachineTaskOutcome>;
