import { CancellationScope } from '@temporalio/workflow';
import type { Json } from '../../model/json.js';
import { firstIncarnation } from '../../model/machine/assigned.js';
import type { MoveTarget } from '../../model/machine/intents.js';
import type { MachineState, Registration } from '../../model/machine/state.js';
import type { OperationResult } from '../../model/machine/messages.js';
import { stableJson } from '../../model/node/payload.js';
import { change, newMemory } from '../entity.js';
import { describeAccount } from './account.js';
import { toNotDone } from './failure.js';
import type { MachineMemory } from './memory.js';
import { firstPayload, releaseMachine, task } from './three-tasks.js';

/**
 * Moves the machine to another account. The new account has it, and it answers there, before the present
 * account gives it up; a failure until then leaves it where it is. Its content is probed again. A move to its
 * own account applies a changed site or other names in heddle.yaml.
 */
export async function moveTo(memory: MachineMemory, to: MoveTarget): Promise<OperationResult> {
  const { name, registration: before } = memory.state;
  const registration: Registration = {
    ...before,
    ...(to.provider === before.provider ? {} : { fields: {} }),
    ...to,
  };
  const account = await describeAccount(registration).catch((error: unknown) => {
    throw toNotDone(memory, 'CREATE', error);
  });
  if (isSame(before, registration)) {
    change(memory, { registration, account });
    return {};
  }
  const next =
    Math.max(memory.state.incarnations ?? firstIncarnation, memory.state.incarnation ?? firstIncarnation) + 1;
  // Recorded first: otherwise the sweep would take the machine for an orphan.
  change(memory, { incarnations: next, moving: next });
  const there: MachineMemory = {
    ...newMemory(),
    state: {
      ...memory.state,
      registration,
      account,
      incarnation: next,
      payload: firstPayload(name, account),
    },
  };
  try {
    await task(there, 'CREATE');
    await task(there, 'CONFIRM');
    await CancellationScope.nonCancellable(() => task(memory, 'DELETE'));
  } catch (error) {
    await CancellationScope.nonCancellable(() => abandonMove(memory, there));
    throw error;
  }
  memory.state = moved(memory.state, there.state);
  return {};
}

function isSame(one: Registration, other: Registration): boolean {
  const words = ({ provider, flavor, image, fields }: Registration): string =>
    stableJson({ provider, flavor, image, fields } satisfies Json);
  return words(one) === words(other);
}

/** The disk there says nothing about the disk here; either may hold a partial image. */
function moved(
  here: MachineState,
  { registration, account, payload, incarnation: own }: MachineState,
): MachineState {
  const {
    moving: _moving,
    image: _image,
    keepsOff: _off,
    power: _power,
    unconfirmed: _unconfirmed,
    drift: _drift,
    hardware: _hardware,
    erasure: _erasure,
    checkedAt: _looked,
    account: _account,
    incarnation: _own,
    ...state
  } = here;
  return {
    ...state,
    registration,
    payload,
    measured: {},
    ...(account === undefined ? {} : { account }),
    ...(own === undefined ? {} : { incarnation: own }),
  };
}

/** A machine that cannot be deleted now is found by the sweep: its key has no owner. */
async function abandonMove(memory: MachineMemory, there: MachineMemory): Promise<void> {
  await releaseMachine(there, memory);
  change(memory, { moving: undefined });
}
