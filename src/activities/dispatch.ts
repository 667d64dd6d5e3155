import { activityInfo } from '@temporalio/activity';
import { actions, actionTable, type Action } from '../model/action.js';
import type { TaskOutcome, TaskRequest } from '../model/messages.js';
import type { Task } from '../model/task.js';
import { openAttempt, type Attempt } from './attempt.js';
import { runBootstrap, runServiceAction } from './automator/automator-task.js';
import { runCommand } from './automator/exec-task.js';
import { toFailure } from './failures.js';
import type { ActivityParts } from './parts.js';
import { checkPins } from './plan/pins.js';
import { createPeersCache, type PeersCache } from './plan/peers.js';
import { runProviderTask } from './provider/provider-task.js';
import { createTogetherActivities, type TogetherActivities } from './provider/together.js';

export type TaskActivities = Readonly<Record<Action, (request: TaskRequest) => Promise<TaskOutcome>>> &
  TogetherActivities;

/**
 * One activity for each action, of that very name; each asks the plugin that the task names. And those that
 * do so for several nodes.
 */
export function createTaskActivities(parts: ActivityParts): TaskActivities {
  const peers = createPeersCache(parts.askPeers);
  const entries = actions.map(
    (action) => [action, (request: TaskRequest) => runTask(parts, peers, action, request)] as const,
  );
  const together = createTogetherActivities((action, request, within) =>
    runTask(parts, peers, action, request, within),
  );
  return { ...Object.fromEntries(entries), ...together } as TaskActivities;
}

async function runTask(
  parts: ActivityParts,
  peers: PeersCache,
  action: Action,
  request: TaskRequest,
  within?: AbortSignal,
): Promise<TaskOutcome> {
  const attempt = openAttempt(
    parts,
    action,
    request,
    request.service?.action.type ?? request.provider.type,
    within,
  );
  try {
    checkPins(parts.registry, request.plugins);
    attempt.at('reads the peers');
    const nodes = await peers.get(
      request.clusterUid,
      request.peersOf,
      request.peersVersion,
      activityInfo().workflowExecution,
    );
    const task = toTask(action, request, nodes);
    const carryOut = chooseHandler(action);
    const result = await carryOut(parts, task, request, attempt);
    attempt.log.debug(`${attempt.title} done`);
    return { result, ...attempt.output.tails(), log: attempt.output.name };
  } catch (error) {
    const failure = toFailure(error, attempt, actionTable[action].retry, action);
    if (attempt.detach.aborted) attempt.log.debug(`${attempt.title} let go`, { reason: failure.message });
    else attempt.log.warn(failure.message);
    throw failure;
  } finally {
    await attempt.close();
  }
}

function chooseHandler(
  action: Action,
): (
  parts: ActivityParts,
  task: Task,
  request: TaskRequest,
  attempt: Attempt,
) => Promise<TaskOutcome['result'] & object> {
  if (actionTable[action].target === 'provider') return runProviderTask;
  if (action === 'EXEC') return runCommand;
  return action === 'BOOTSTRAP' ? runBootstrap : runServiceAction;
}

function toTask(action: Action, request: TaskRequest, nodes: Task['nodes']): Task {
  const { taskId, clusterId, clusterUid, nodeId, incarnation, config, cluster, provider, service } = request;
  return {
    taskId,
    taskName: action,
    clusterId,
    clusterUid,
    nodeId,
    incarnation,
    attempt: activityInfo().attempt,
    config: {
      ...config,
      provider: { providertype: provider.type },
      ...(service === undefined ? {} : { service: { name: service.name, action: service.action } }),
    },
    nodes,
    cluster,
    provider,
    service: service === undefined ? undefined : { name: service.name, action: service.action },
  };
}
