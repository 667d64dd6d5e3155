import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import type { JsonObject } from '../../model/json.js';
import { answerOfFailure } from '../../model/machine/answer.js';
import { assignedMachine } from '../../model/machine/assigned.js';
import type { AccountReply } from '../../model/machine/messages.js';
import { hostname } from '../../model/names.js';
import { mergePayload } from '../../model/node/payload.js';
import { machinePartOf } from '../../model/node/result-table.js';
import type { TaskOutcome } from '../../model/node/task-request.js';
import { scheduleTask } from '../schedule.js';
import { machineTask } from '../task-request.js';
import { readTaskFailure } from '../task-failure.js';
import { beginCreate } from '../unsent-create.js';
import { NotDone, toNotDone } from './failure.js';
import { change, now } from '../entity.js';
import { note, operationOfTasks, type MachineMemory } from './memory.js';

/**
 * There may be no worker that reaches it: the longest wait for a clean-up, in ms.
 */
const releaseMs = 60_000;

/** What is known of a machine before CREATE. */
export function firstPayload(name: string, { flavor, image }: AccountReply): JsonObject {
  return { hostname: hostname('machine', name), flavor, image, nodenum: 1, group: name, services: [] };
}

/** One of the three tasks that every provider has. */
export async function task(memory: MachineMemory, action: 'CREATE' | 'CONFIRM' | 'DELETE'): Promise<void> {
  const create = action === 'CREATE' ? beginCreate({}) : undefined;
  for (;;) {
    const { absenceConfirmedAt } = memory.state;
    try {
      const ended = scheduleOnce(memory, action, create?.leftMs());
      if (create !== undefined) change(memory, { begun: true, absenceConfirmedAt: undefined });
      const { result } = await ended;
      change(memory, { payload: mergePayload(memory.state.payload, result ?? {}) });
      return;
    } catch (error) {
      const notDone = toNotDone(memory, action, error);
      const failure = readTaskFailure(error, { ...notDone.failure, action }, now());
      change(memory, { payload: mergePayload(memory.state.payload, machinePartOf(failure.result)) });
      if (failure.madeNothing) change(memory, { begun: undefined, absenceConfirmedAt });
      const next = create?.next(failure) ?? failure.record;
      if (typeof next !== 'number') throw new NotDone(answerOfFailure(next.kind), next);
      await sleep(next);
    }
  }
}

function scheduleOnce(
  memory: MachineMemory,
  action: 'CREATE' | 'CONFIRM' | 'DELETE',
  withinMs: number | undefined,
): Promise<TaskOutcome> {
  const { state } = memory;
  const machine = assignedMachine(state);
  return scheduleTask(
    action,
    {
      ...machineTask(machine, { action, operation: operationOfTasks(memory) }),
      ...(action === 'DELETE' && state.begun === true ? { createBegun: true } : {}),
      ...(state.absenceConfirmedAt === undefined ? {} : { absenceConfirmedAt: state.absenceConfirmedAt }),
    },
    machine.placement,
    withinMs === undefined ? {} : { withinMs },
  );
}

/** Releases the machine, if there is one. Returns false if that failed, and notes it in `reporter`. */
export async function releaseMachine(
  memory: MachineMemory,
  reporter: MachineMemory = memory,
): Promise<boolean> {
  try {
    await CancellationScope.withTimeout(releaseMs, () => task(memory, 'DELETE'));
    return true;
  } catch (error) {
    const why = isCancellation(error)
      ? `not within ${releaseMs / 1_000} s`
      : toNotDone(reporter, 'DELETE', error).message;
    note(
      reporter,
      `the machine at ${memory.state.registration.provider}, if there is one, could not be released (${why}); run 'heddle leaks' to see it`,
    );
    return false;
  }
}
