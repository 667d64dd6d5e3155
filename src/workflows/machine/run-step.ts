import { CancellationScope, isCancellation } from '@temporalio/workflow';
import { activityTable } from '../../model/activities.js';
import { assignedMachine } from '../../model/machine/assigned.js';
import type { MachineAction } from '../../model/machine/actions.js';
import type { MachineOrder, MachineTaskOutcome } from '../../model/machine/messages.js';
import { powerAfter, switchesPower } from '../../model/machine/power.js';
import { estimateLeft, possibleSteps, type ProcedureStep } from '../../model/machine/steps.js';
import { mergePayload } from '../../model/node/payload.js';
import { scheduleMachineTask } from '../schedule.js';
import { machineTask } from '../task-request.js';
import { change, now } from '../entity.js';
import { toNotDone } from './failure.js';
import { changeOperation, note, operationOfTasks, type MachineMemory } from './memory.js';

export interface StepOptions {
  readonly order?: Partial<MachineOrder>;
  /** Time left over all, in ms. */
  readonly leftMs?: number;
}

/** Carries out one action as an activity and records its result. */
export async function runAction(
  memory: MachineMemory,
  action: MachineAction,
  { order = {}, leftMs }: StepOptions = {},
): Promise<MachineTaskOutcome> {
  const { registration, operation } = memory.state;
  const machine = assignedMachine(memory.state);
  memory.tasks = (memory.tasks ?? 0) + 1;
  const noteNotDone = noteUndoable(memory, action);
  if (action === 'POST_LOAD') memory.postLoadBegun = true;
  // Until the command is done, the power is unknown.
  if (switchesPower(action)) change(memory, { power: undefined });
  const { system } = registration;
  const outcome = await scheduleMachineTask(
    action,
    {
      // The same action may come twice in one operation.
      ...machineTask(machine, { action, operation: `${operationOfTasks(memory)}.${memory.tasks}` }),
      order: { at: operation?.startedAt ?? now(), ...(system === null ? {} : { system }), ...order },
    },
    { ...machine.placement, leftMs },
  ).catch((error: unknown) => {
    noteNotDone(error);
    throw error;
  });
  if (outcome.payload !== undefined)
    change(memory, { payload: mergePayload(memory.state.payload, outcome.payload) });
  const power = powerAfter(action, outcome);
  if (power !== undefined) change(memory, { power });
  return outcome;
}

/**
 * What a failed operation has to undo; returns what takes the note back if the action was certainly not done.
 */
function noteUndoable(memory: MachineMemory, action: MachineAction): (error: unknown) => void {
  const fact = action === 'POWER_OFF' ? 'offByUs' : action === 'SET_BOOT' ? 'bootByUs' : undefined;
  if (fact === undefined || memory[fact] === true) return () => undefined;
  memory[fact] = true;
  return (error) => {
    if (!isCancellation(error) && toNotDone(memory, action, error).answer === 'not done') delete memory[fact];
  };
}

export function can(memory: MachineMemory, action: MachineAction): boolean {
  const { account, registration } = memory.state;
  if (activityTable[action].by === 'system' && registration.system === null) return false;
  return account?.can.includes(action) === true;
}

/** The steps that the provider and the system can do, and that have something to do on this machine. */
export function stepsFor(memory: MachineMemory, steps: readonly ProcedureStep[]): readonly ProcedureStep[] {
  const { access, unerased } = memory.state;
  const isDue = (action: MachineAction): boolean =>
    (access !== undefined || action !== 'REVOKE_ACCESS') && (unerased === true || action !== 'ERASE');
  return possibleSteps(steps, (action) => can(memory, action) && isDue(action));
}

/** Data for REVOKE_ACCESS only, without the credential. */
export function accessOf(
  { state: { access } }: MachineMemory,
  { action }: Pick<ProcedureStep, 'action'>,
): Pick<MachineOrder, 'access'> {
  if (access === undefined || action !== 'REVOKE_ACCESS') return {};
  return { access: { user: access.user, login: access.login } };
}

/** One step of a procedure, shown while it runs; how long it took is remembered for the next estimate. */
export async function runStep(
  memory: MachineMemory,
  steps: readonly ProcedureStep[],
  step: ProcedureStep,
  options: StepOptions,
): Promise<MachineTaskOutcome> {
  const began = Date.now();
  changeOperation(memory, {
    step: {
      step: step.step,
      number: steps.indexOf(step) + 1,
      of: steps.length,
      since: now(),
      leftMs: estimateLeft(steps, step.step, 0, memory.state.measured),
    },
  });
  const { leftMs = Number.POSITIVE_INFINITY } = options;
  const { withinMs = leftMs } = step;
  const limitMs = Math.min(leftMs, withinMs);
  const limited = limitMs === Number.POSITIVE_INFINITY ? options : { ...options, leftMs: limitMs };
  const outcome = await runAction(memory, step.action, limited).catch(async (error: unknown) => {
    if (startsRun.includes(step.action) && can(memory, 'END_RUN'))
      await endRun(memory, undoMs(limitMs - (Date.now() - began)));
    throw error;
  });
  change(memory, { measured: { ...memory.state.measured, [step.step]: Date.now() - began } });
  return outcome;
}

/** Actions whose program may outlive the worker that carries them out. */
const startsRun: readonly MachineAction[] = ['RETRIEVE_IMAGE', 'LOAD', 'CAPTURE'];

/** An attempt that was lost with its worker, or cancelled without one, has not ended its program. */
async function endRun(memory: MachineMemory, leftMs: number): Promise<void> {
  await CancellationScope.nonCancellable(() => runAction(memory, 'END_RUN', { leftMs })).catch(
    (error: unknown) => {
      if (isCancellation(error)) throw error;
      note(memory, toNotDone(memory, 'END_RUN', error).message);
    },
  );
}

const shortestUndoMs = 10_000;

/** Time for an undo of an operation that has so much left: some, also if its time is over. */
export function undoMs(leftMs: number): number {
  return Math.max(leftMs, shortestUndoMs);
}
