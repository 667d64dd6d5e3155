import type { CancellationScope } from '@temporalio/workflow';
import { change, now, type EntityMemory } from '../entity.js';
import { cutText } from '../../model/carried.js';
import { longestText, rememberOperation } from '../../model/machine/remember.js';
import type { MachineOperation, MachineState } from '../../model/machine/state.js';
import { afterOperation } from '../../model/machine/quarantine.js';
import { nextState, type MachineEvent, type MachineStateName } from '../../model/machine/transitions.js';

/** Holds a machine's state during one run of its workflow. The state itself is never mutated. */
export interface MachineMemory extends EntityMemory {
  state: MachineState;
  /** Of the operation under way: cancelling it cancels that. */
  scope?: CancellationScope;
  /** The operation under way is to end early. */
  cancelled?: true;
  /** Tasks of this run so far: two of one action in one operation are two. */
  tasks?: number;
  /** The operation under way has switched the machine off, or may have. */
  offByUs?: true;
  /** The operation under way has set what the machine boots from, or may have. */
  bootByUs?: true;
  /** The operation under way has begun the steps after loading. */
  postLoadBegun?: true;
  /** A periodic check was signalled and has not run yet. */
  isCheckDue?: true;
  /** A periodic check is running, and no operation. */
  checking?: true;
  /** Set when the machine is no longer registered. */
  removed?: true;
}

/** @throws Error where the table does not allow it: that would be a fault of ours. */
export function happen(
  memory: MachineMemory,
  event: MachineEvent,
  why?: string,
  before?: MachineStateName,
): void {
  const { state } = memory.state;
  const next = nextState(state, event, before);
  if (next === undefined) throw new Error(`'${event}' is not allowed in state ${state}`);
  change(memory, { state: next, why: why === undefined ? undefined : cutText(why, longestText) });
}

/** What the ids of its tasks have of the operation under way. */
export function operationOfTasks({ state: { operation } }: MachineMemory): string {
  return operation?.uid ?? operation?.id ?? '-';
}

export function changeOperation(memory: MachineMemory, part: Partial<MachineOperation>): void {
  const { operation } = memory.state;
  if (operation !== undefined) change(memory, { operation: { ...operation, ...part } });
}

export function note(memory: MachineMemory, text: string): void {
  changeOperation(memory, {
    notes: [...(memory.state.operation?.notes ?? []), cutText(text, longestText)].slice(-20),
  });
}

/** Moves the operation to those that are over. */
export function endOperation(
  memory: MachineMemory,
  end: Pick<MachineOperation, 'state'> & Partial<MachineOperation>,
): void {
  const { operation, ...state } = memory.state;
  if (operation === undefined) return;
  const { step: _step, ...rest } = operation;
  const ended: MachineOperation = { ...rest, ...end, endedAt: now() };
  change(memory, {
    operation: undefined,
    ...afterOperation(state, ended),
    history: rememberOperation(state.history, ended),
  });
}
