import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  setHandler,
  upsertMemo,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type { ClusterStart } from '../model/messages.js';
import { clusterWorkflowId } from '../model/names.js';
import { noPeers, peersPage } from '../model/peers.js';
import { usedDigests } from '../model/resource/used.js';
import { statusOf } from '../model/report.js';
import { defaultLimits, type ClusterState } from '../model/state.js';
import { summarise } from '../model/plan/summarise.js';
import { upgradeState } from '../model/upgrade-state.js';
import {
  acceptAbandon,
  acceptApply,
  acceptCancel,
  acceptDelete,
  acceptOperate,
  acceptPause,
  acceptResume,
  acceptRetry,
  queueOperation,
  specBefore,
  validateAbandon,
  validateApply,
  validateCancel,
  validateOperate,
  validatePause,
  validateResume,
  validateRetry,
} from './cluster/accept.js';
import { keepInstructing } from './cluster/groups.js';
import { askLook, isToLook, look, lookAndRepair } from './cluster/look.js';
import { giveBack, lend, nodeReply, restLent, validateLend } from './cluster/lend.js';
import { show, type Memory } from './cluster/memory.js';
import {
  abandonUpdate,
  applyUpdate,
  cancelUpdate,
  currentQuery,
  deleteSignal,
  deleteUpdate,
  disownUpdate,
  giveBackSignal,
  lendUpdate,
  lookUpdate,
  nodeQuery,
  operateUpdate,
  ownersQuery,
  pauseUpdate,
  payloadQuery,
  peersQuery,
  reportSignal,
  resumeUpdate,
  retryUpdate,
  specQuery,
  statusQuery,
  usedResourcesQuery,
} from './messages.js';
import { disown, ownershipOf } from './cluster/ownership.js';
import { noCheck } from './no-check.js';
import { takeReport } from './cluster/reports.js';
import { hasWork, isOver, takeUp } from './cluster/take-up.js';

/**
 * What a cluster workflow starts with: a Heddle client's word, a raw spec, or the state of its earlier run.
 */
export type ClusterInput = ClusterStart | { readonly carried: ClusterState } | object;

/**
 * A cluster, for as long as it lives: it takes operations, carries them out one at a time, and is at rest in
 * between. It ends when the cluster was deleted, or when the first thing it was asked could not be accepted.
 */
export async function cluster(input: ClusterInput): Promise<string> {
  const cancelled = CancellationScope.current().cancelRequested;
  // Ending the workflow would leave its machines behind, so cancelling it from outside cancels the operation
  // under way.
  return CancellationScope.nonCancellable(() => live(input, cancelled));
}

async function live(input: ClusterInput, cancelled: Promise<never>): Promise<string> {
  const { halt, ...state } = openState(input);
  const memory: Memory = { state, sending: [], placing: 0, stale: false, halt };
  handleMessages(memory);
  cancelled.catch(() => cancelFromOutside(memory));
  if (isRawSpec(input))
    queueOperation(memory, { intent: { kind: 'apply' }, by: 'workflow start', spec: input });
  upsertMemo({ heddleUid: memory.state.uid });
  show(memory);
  void keepShown(memory);
  void keepInstructing(memory);
  // A first message that was refused leaves a cluster nobody asked for.
  await condition(() => hasWork(memory), '30 seconds');
  if (!hasWork(memory) && isEmpty(memory)) return 'nothing was asked of this cluster';
  for (;;) {
    await rest(memory);
    if (isToLook(memory)) await look(memory);
    if (!hasWork(memory)) {
      if (isWorn(memory)) return carryOn(memory);
      continue;
    }
    const end = await takeUp(memory);
    if (end === 'continue') return carryOn(memory);
    if (await isOver(memory, end)) return `cluster ${memory.state.name} was deleted`;
  }
}

/** Until there is something to do. A cluster whose spec says so looks at its machines from time to time. */
async function rest(memory: Memory): Promise<void> {
  const { everyMs } = memory.state.spec?.repair ?? {};
  if (memory.state.lent !== undefined) return restLent(memory, () => isToLook(memory) || isWorn(memory));
  const isWoken = (): boolean =>
    hasWork(memory) || isToLook(memory) || isWorn(memory) || memory.state.lent !== undefined;
  if (everyMs === undefined) await condition(isWoken);
  else if (!(await condition(isWoken, everyMs))) await lookAndRepair(memory);
}

/**
 * Events after which a cluster at rest goes on in a new run, long before the server suggests it: a worker
 * that takes it over replays all of them.
 */
const mostEventsAtRest = 500;

function isWorn(memory: Memory): boolean {
  if (!allHandlersFinished()) return false;
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || memory.renew === true || historyLength > mostEventsAtRest;
}

async function keepShown(memory: Memory): Promise<never> {
  for (;;) {
    await condition(() => memory.stale);
    show(memory);
  }
}

function cancelFromOutside(memory: Memory): void {
  memory.renew = true;
  if (memory.state.operation !== undefined) acceptCancel(memory, { by: 'a cancellation of the workflow' });
}

async function carryOn(memory: Memory): Promise<never> {
  memory.closing = true;
  await condition(() => allHandlersFinished() && memory.sending.length === 0);
  // Cancel and delete may still come while the last messages to groups are on their way.
  const { state, halt } = memory;
  return continueAsNew<typeof cluster>({ carried: { ...state, ...(halt === undefined ? {} : { halt }) } });
}

function openState(input: ClusterInput): ClusterState {
  if ('carried' in input) return upgradeState(input.carried);
  const name = workflowInfo().workflowId.replace(/^cluster\//, '');
  const start = 'heddle' in input ? input.heddle : undefined;
  if (workflowInfo().workflowId !== clusterWorkflowId(name)) {
    throw ApplicationFailure.nonRetryable(
      `a cluster's workflow id is cluster/<name>, not "${workflowInfo().workflowId}"`,
      'Invalid',
    );
  }
  return {
    stateVersion: 1,
    name,
    uid: start?.uid ?? uuid4(),
    stopped: [],
    retired: {},
    nodes: {},
    peers: noPeers,
    queue: [],
    history: [],
    looks: { asked: 0, done: 0 },
    counters: { operation: 0, incarnation: 0, nodenum: 0, group: 0 },
    groups: {},
    features: { searchAttributes: false },
    limits: defaultLimits,
  };
}

function isRawSpec(input: ClusterInput): boolean {
  return !('carried' in input) && !('heddle' in input);
}

function handleMessages(memory: Memory): void {
  setHandler(applyUpdate, (request) => acceptApply(memory, request), {
    validator: (request) => validateApply(memory, request),
    description: 'Bring the cluster to a spec.',
  });
  setHandler(operateUpdate, (request) => acceptOperate(memory, request), {
    validator: (request) => validateOperate(memory, request),
    description: 'Start, stop, restart, reconfigure, replace, exec, rollback.',
  });
  setHandler(deleteUpdate, (request) => acceptDelete(memory, request), {
    validator: noCheck,
    description: 'Delete the cluster, whatever it is doing.',
  });
  setHandler(
    deleteSignal,
    (request) => {
      acceptDelete(memory, request);
    },
    { description: 'Delete the cluster; kept until a worker comes.' },
  );
  setHandler(retryUpdate, (_request) => acceptRetry(memory), {
    validator: (_request) => validateRetry(memory),
    description: 'Go on with a held operation from exactly what failed.',
  });
  setHandler(cancelUpdate, (request) => acceptCancel(memory, request), {
    validator: (request) => validateCancel(memory, request),
    description: 'End the operation under way; the cluster stays as it is then.',
  });
  setHandler(pauseUpdate, (request) => acceptPause(memory, request), {
    validator: (_request) => validatePause(memory),
    description: 'Start nothing more until resume; what runs goes on to its end.',
  });
  setHandler(resumeUpdate, (_request) => acceptResume(memory), {
    validator: (_request) => validateResume(memory),
    description: 'Go on after pause.',
  });
  setHandler(lookUpdate, () => askLook(memory), {
    validator: noCheck,
    description: 'Look at the machines; what was found shows in the plan.',
  });
  setHandler(reportSignal, (report) => takeReport(memory, report), {
    description: 'What came of what a group was told to do.',
  });
  setHandler(abandonUpdate, (request) => acceptAbandon(memory, request), {
    validator: (request) => validateAbandon(memory, request),
    description: 'Forget a node whose machine cannot be deleted.',
  });
  setHandler(disownUpdate, (machines) => disown(memory, machines), {
    validator: noCheck,
    description: 'Say whose machines these are; keys of free ones are never used again.',
  });
  setHandler(lendUpdate, (request) => lend(memory, request), {
    validator: (request) => validateLend(memory, request),
    description: 'Another workflow is to work on a node, until it gives it back.',
  });
  setHandler(giveBackSignal, (request) => giveBack(memory, request), {
    description: "The node is the cluster's alone again.",
  });
  handleQueries(memory);
}

function handleQueries(memory: Memory): void {
  setHandler(statusQuery, () => statusOf(memory.state), {
    description: 'Nodes, operation and history, without secrets.',
  });
  setHandler(
    specQuery,
    (which) => (which === 'rollback' ? specBefore(memory.state) : memory.state.spec) ?? null,
    { description: 'The spec that was accepted last, or the one that a rollback would go back to.' },
  );
  setHandler(usedResourcesQuery, () => usedDigests(memory.state), {
    description: 'Digests of the resources that the cluster uses or may use.',
  });
  setHandler(currentQuery, () => summarise(memory.state), {
    description: 'What planning sees of the cluster.',
  });
  setHandler(payloadQuery, (nodeId) => memory.state.nodes[nodeId]?.payload ?? null, {
    description: 'All that is known of a node, credentials included.',
  });
  setHandler(nodeQuery, (nodeId) => nodeReply(memory, nodeId), {
    description: 'A node, credentials included, for who is to work on it.',
  });
  setHandler(peersQuery, (request) => peersPage(memory.state, request), {
    description: 'Nodes that changed since a version.',
  });
  setHandler(ownersQuery, (machines) => machines.map((machine) => ownershipOf(memory, machine)), {
    description: 'Whose machines are these?',
  });
}

function isEmpty({ state }: Memory): boolean {
  return (
    Object.keys(state.nodes).length === 0 &&
    Object.keys(state.groups).length === 0 &&
    state.operation === undefined &&
    state.history.length === 0
  );
}
