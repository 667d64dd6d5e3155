import { CancellationScope, isCancellation, sleep, workflowInfo } from '@temporalio/workflow';
import type { JsonObject } from '../../model/json.js';
import { answerOfFailure } from '../../model/machine/answer.js';
import type { AccountReply } from '../../model/machine/messages.js';
import { hostname, machineWorkflowId, taskId } from '../../model/names.js';
import { mergePayload } from '../../model/node/payload.js';
import { machinePartOf } from '../../model/node/result-table.js';
import type { TaskOutcome } from '../../model/node/task-request.js';
import { scheduleTask } from '../schedule.js';
import { readTaskFailure } from '../task-failure.js';
import { beginCreate } from '../unsent-create.js';
import { NotDone, toNotDone } from './failure.js';
import { change, now } from '../entity.js';
import { note, operationOfTasks, type MachineMemory } from './memory.js';
import { incarnation } from './run-step.js';

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
  const { name, uid, owner, incarnation: own = incarnation, registration, account, payload } = state;
  const operation = operationOfTasks(memory);
  if (account === undefined) throw new Error(`${name} has no account yet`);
  const { provider, fields } = registration;
  const { type, site, flavor, image } = account;
  return scheduleTask(
    action,
    {
      taskId: taskId({ clusterUid: uid, nodeId: name, incarnation: own, action, operation }),
      clusterId: owner ?? machineWorkflowId(name),
      clusterUid: uid,
      nodeId: name,
      incarnation: own,
      run: 1,
      operation,
      config: payload,
      cluster: {},
      peersVersion: 0,
      peersOf: workflowInfo().workflowId,
      provider: { name: provider, type, fields },
      ...(action === 'DELETE' && state.begun === true ? { createBegun: true } : {}),
      ...(state.absenceConfirmedAt === undefined ? {} : { absenceConfirmedAt: state.absenceConfirmedAt }),
    },
    { provider, type, site, flavor, image, fields },
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
