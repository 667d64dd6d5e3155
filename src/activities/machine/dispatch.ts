import { activityInfo } from '@temporalio/activity';
import {
  machineActions,
  machineActionTable,
  machineRetry,
  type MachineAction,
} from '../../model/machine/actions.js';
import type { MachineTaskOutcome, MachineTaskRequest } from '../../model/machine/messages.js';
import type { Task } from '../../model/task.js';
import { openAttempt } from '../attempt.js';
import { toFailure } from '../failures.js';
import { libraryVerbs } from '../image/library-verbs.js';
import type { ActivityParts } from '../parts.js';
import { engineVerbs } from './engine-verbs.js';
import type { Handler } from './machine-parts.js';
import { providerVerbs } from './provider-verbs.js';
import { systemVerbs } from './system-verbs.js';

export type MachineActivities = Readonly<
  Record<MachineAction, (request: MachineTaskRequest) => Promise<MachineTaskOutcome>>
>;

const handlers: Readonly<Record<MachineAction, Handler>> = {
  ...providerVerbs,
  ...systemVerbs,
  ...engineVerbs,
  ...libraryVerbs,
};

/** One activity for each machine action, of that very name. */
export function createMachineActivities(parts: ActivityParts): MachineActivities {
  const entries = machineActions.map(
    (action) => [action, (request: MachineTaskRequest) => runAction(parts, action, request)] as const,
  );
  return Object.fromEntries(entries) as MachineActivities;
}

async function runAction(
  parts: ActivityParts,
  action: MachineAction,
  request: MachineTaskRequest,
): Promise<MachineTaskOutcome> {
  const attempt = openAttempt(
    parts,
    action,
    request,
    request.order.system !== undefined && machineActionTable[action].by === 'system'
      ? request.order.system
      : request.provider.type,
  );
  try {
    const outcome = await handlers[action]({
      parts,
      action,
      row: machineActionTable[action],
      task: toTask(action, request),
      request,
      attempt,
    });
    attempt.log.debug(`${attempt.title} done`);
    return { ...outcome, log: attempt.output.name };
  } catch (error) {
    const failure = toFailure(error, attempt, machineRetry, action);
    if (attempt.detach.aborted) attempt.log.debug(`${attempt.title} let go`, { reason: failure.message });
    else attempt.log.warn(failure.message);
    throw failure;
  } finally {
    await attempt.close();
  }
}

function toTask(action: MachineAction, request: MachineTaskRequest): Task {
  const { taskId, clusterId, clusterUid, nodeId, incarnation, config, provider } = request;
  return {
    taskId,
    taskName: action,
    clusterId,
    clusterUid,
    nodeId,
    incarnation,
    attempt: activityInfo().attempt,
    config: { ...config, provider: { providertype: provider.type } },
    nodes: {},
    cluster: {},
    provider,
  };
}
