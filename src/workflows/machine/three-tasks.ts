import { CancellationScope, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { JsonObject } from '../../model/json.js';
import type { AccountReply } from '../../model/machine/messages.js';
import { hostname, machineWorkflowId, taskId } from '../../model/names.js';
import { mergePayload } from '../../model/node/payload.js';
import { machinePartOf } from '../../model/node/result-table.js';
import { scheduleTask } from '../schedule.js';
import { readTaskFailure } from '../task-failure.js';
import { toNotDone } from './failure.js';
import { now } from '../entity.js';
import { change, note, type MachineMemory } from './memory.js';
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
  const {
    name,
    uid,
    owner,
    incarnation: own = incarnation,
    registration,
    account,
    payload,
    operation,
  } = memory.state;
  if (account === undefined) throw new Error(`${name} has no account yet`);
  const id = operation?.id ?? '-';
  try {
    const { result } = await scheduleTask(
      action,
      {
        taskId: taskId({ clusterUid: uid, nodeId: name, incarnation: own, action, operation: id }),
        clusterId: owner ?? machineWorkflowId(name),
        clusterUid: uid,
        nodeId: name,
        incarnation: own,
        run: 1,
        operation: id,
        config: payload,
        cluster: {},
        peersVersion: 0,
        peersOf: workflowInfo().workflowId,
        provider: { name: registration.provider, type: account.type, fields: registration.fields },
      },
      {
        provider: registration.provider,
        type: account.type,
        site: account.site,
        flavor: account.flavor,
        image: account.image,
        fields: registration.fields,
      },
    );
    change(memory, { payload: mergePayload(memory.state.payload, result ?? {}) });
  } catch (error) {
    const notDone = toNotDone(memory, action, error);
    const { result } = readTaskFailure(error, { taskId: id, action }, now());
    change(memory, { payload: mergePayload(memory.state.payload, machinePartOf(result)) });
    throw notDone;
  }
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
      `what was had at ${memory.state.registration.provider}, if anything, could not be released (${why}); 'heddle leaks' shows it`,
    );
    return false;
  }
}
