import type { CancellationScope } from '@temporalio/workflow';
import type { MachineOperation, MachineState } from '../../model/machine/machine.js';
import { rememberedOperations } from '../../model/machine/machine.js';
import { nextState, type MachineEvent, type MachineStateName } from '../../model/machine/states.js';

/** Holds a machine's state while one run of its workflow lives. The state itself is never mutated. */
export interface MachineMemory {
  state: MachineState;
  /** Of the operation under way: cancelling it cancels that. */
  scope?: CancellationScope;
  /** The operation under way is to end early. */
  cancelled?: true;
  /** Tasks of this run so far: two of one action in one operation are two. */
  tasks?: number;
  /** The operation under way has switched the machine off, or tried to. */
  offByUs?: true;
  /** A round has come by, and it has not looked at itself yet. */
  round?: true;
  /** A look is under way, and no operation. */
  looking?: true;
  /** The machine is no longer registered. */
  removed?: true;
  /** A run can be cancelled from outside once, so the next rest begins a new one. */
  renew?: true;
}

export function now(): string {
  return new Date(Date.now()).toISOString();
}

export function change(memory: MachineMemory, part: Partial<MachineState>): void {
  memory.state = { ...memory.state, ...part };
}

/** @throws Error where the table does not allow it: that would be a fault of ours. */
export function happen(
  memory: MachineMemory,
  event: MachineEvent,
  why?: string,
  before?: MachineStateName,
): void {
  const { why: _why, ...state } = memory.state;
  const next = nextState(state.state, event, before);
  if (next === undefined) throw new Error(`'${event}' is not allowed in state ${state.state}`);
  memory.state = { ...state, state: next, ...(why === undefined ? {} : { why }) };
}

export function changeOperation(memory: MachineMemory, part: Partial<MachineOperation>): void {
  const { operation } = memory.state;
  if (operation !== undefined) change(memory, { operation: { ...operation, ...part } });
}

export function note(memory: MachineMemory, text: string): void {
  changeOperation(memory, { notes: [...(memory.state.operation?.notes ?? []), text].slice(-20) });
}

/** Moves the operation to those that are over. */
export function endOperation(
  memory: MachineMemory,
  end: Pick<MachineOperation, 'state'> & Partial<MachineOperation>,
): void {
  const { operation, ...state } = memory.state;
  if (operation === undefined) return;
  const { step: _step, ...rest } = operation;
  memory.state = {
    ...state,
    history: [{ ...rest, ...end, endedAt: now() }, ...state.history].slice(0, rememberedOperations),
  };
}
