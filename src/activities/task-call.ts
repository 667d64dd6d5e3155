import type { AnyAction } from '../model/action.js';
import type { ActivityRow } from '../model/activities.js';
import type { MachineTaskOutcome, MachineTaskRequest } from '../model/machine/messages.js';
import type { TaskRequest } from '../model/node/task-request.js';
import type { Task } from '../model/node/task.js';
import type { Attempt } from './attempt.js';
import type { ActivityParts } from './parts.js';

/** One attempt of one task, as handlers get it. */
export interface TaskCall<Request extends TaskRequest = TaskRequest> {
  readonly parts: ActivityParts;
  readonly action: AnyAction;
  readonly row: ActivityRow;
  readonly task: Task;
  readonly request: Request;
  readonly attempt: Attempt;
}

export type MachineCall = TaskCall<MachineTaskRequest>;
export type MachineHandler = (call: MachineCall) => Promise<MachineTaskOutcome>;
