import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { MachineIntent } from '../../model/machine/intents.js';
import type { MachineState, Registration } from '../../model/machine/state.js';
import type { OperationResult } from '../../model/machine/messages.js';
import { imageWorkflowId } from '../../model/names.js';
import { NotDone } from '../machine/failure.js';
import type { MachineMemory } from '../machine/memory.js';
import { runOperation } from '../machine/operations.js';
import { now, newMemory } from '../entity.js';
import { forgetMachine, noteBuild, setMachine, type ImageMemory } from './memory.js';

/**
 * A machine of a build. It is had, captured and given back as one that is registered by itself; its state is
 * the image's.
 */
export function openMachine(
  memory: ImageMemory,
  name: string,
  registration: Registration,
  more: Pick<MachineState, 'capturesFor'> = {},
): MachineMemory {
  const { uid, absenceConfirmedAt } = memory.state;
  setMachine(memory, {
    name,
    uid,
    owner: imageWorkflowId(memory.state.name),
    registration,
    state: 'reloading',
    payload: {},
    history: [],
    operations: 0,
    measured: {},
    ...(absenceConfirmedAt === undefined ? {} : { absenceConfirmedAt }),
    ...more,
  });
  return machineOf(memory, name);
}

/** One that an earlier run of the workflow may have begun. */
function machineOf(memory: ImageMemory, name: string): MachineMemory {
  return {
    ...newMemory(),
    get state(): MachineState {
      const state = memory.state.machines.find((machine) => machine.name === name);
      if (state === undefined) throw new Error(`machine ${name} does not exist`);
      return state;
    },
    set state(next: MachineState) {
      setMachine(memory, next);
    },
  };
}

/** @throws NotDone */
export async function operate(machine: MachineMemory, intent: MachineIntent): Promise<OperationResult> {
  const { operations } = machine.state;
  const operation = {
    id: String(operations + 1),
    intent,
    by: 'a build',
    state: 'running',
    startedAt: now(),
    notes: [],
  } as const;
  machine.state = { ...machine.state, operations: operations + 1, operation };
  return runOperation(machine, operation);
}

/** Whatever became of the build, its machine goes. One that cannot be deleted now is tried again later. */
export async function takeBack(memory: ImageMemory, name: string, build?: number): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    try {
      await operate(machineOf(memory, name), { kind: 'remove', force: true });
      forgetMachine(memory, name);
    } catch (error) {
      if (isCancellation(error) || !(error instanceof NotDone)) throw error;
      memory.tried = [...memory.tried, name];
      if (build !== undefined)
        noteBuild(memory, build, `its machine could not be deleted, and this is retried: ${error.message}`);
    }
  });
}
