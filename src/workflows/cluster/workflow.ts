import type { Handlers } from '../handlers.js';
import { clusterContract, type PlainRequest } from '../../model/cluster/contract.js';
import { bounds } from '../../model/bounds.js';
import { milliseconds } from '../../model/milliseconds.js';
import { ApplicationFailure, log, uuid4, workflowInfo } from '@temporalio/workflow';
import type { ClusterStart } from '../../model/cluster/messages.js';
import { clusterWorkflowId } from '../../model/names.js';
import { peersPage } from '../../model/node/peers.js';
import { usedDigests } from '../../model/artifact/used.js';
import { outputsOf } from '../../model/cluster/outputs.js';
import { detailsOf, statusOf } from '../../model/cluster/report.js';
import { newCluster, specBefore, type ClusterState } from '../../model/cluster/state.js';
import { packCurrent } from '../../model/plan/packed.js';
import { summarise } from '../../model/plan/facts/summarise.js';
import { importsOf } from '../../model/cluster/variables.js';
import {
  packCluster,
  refuseTooLarge,
  unpackCluster,
  type CarriedCluster,
} from '../../model/cluster/carry.js';
import {
  acceptAbandon,
  acceptApply,
  acceptCancel,
  acceptDelete,
  acceptOperate,
  acceptPause,
  acceptResume,
  acceptRetry,
  newOperation,
  queueOperation,
  refuseAbandon,
  refuseApply,
  refuseCancel,
  refuseDelete,
  refuseOperate,
  refusePause,
  refuseResume,
  refuseRetry,
} from './accept.js';
import { keepPublishing, noteOutcome } from './events.js';
import { areSent, keepAsking, keepInstructing, resumeGroups, unreadText } from './groups.js';
import { requestCheck, isCheckDue, probeMachines, repairMachines } from './check-machines.js';
import { checkLease, releaseLease, grantLease, nodeReply, refuseLease } from './lease.js';
import { exchangeOutputs, followImports, noteChangedImports, noteReader } from './outputs.js';
import { keepMemo, keepSearchAttributes, type Memory } from './memory.js';
import { disown, ownershipInCluster } from './ownership.js';
import {
  newMemory,
  noteChange,
  refuse,
  runEntity,
  type Message,
  type NextStep,
  handlersOf,
} from '../entity.js';
import { basisOf } from './refuse.js';
import { applyReport } from './reports.js';
import { hasWork, isOver, startNextOperation } from './next-operation.js';
import { condition } from '../inbox.js';

/**
 * What a cluster workflow starts with: a Heddle client's word, a raw spec, or the state of its earlier run.
 */
type ClusterInput = ClusterStart | { readonly carried: CarriedCluster } | object;

/**
 * A cluster: it carries out operations one at a time and is idle in between. It ends when the cluster was
 * deleted, or when its first request was refused.
 */
export async function cluster(input: ClusterInput): Promise<string> {
  const { halt, ...state } = openState(input);
  const isFirst = 'heddle' in input && (input as ClusterStart).heddle.isFirst;
  const memory: Memory = {
    ...newMemory(),
    state,
    sending: [],
    placing: 0,
    placingServices: 0,
    halt,
    isFirst,
  };
  resumeGroups(memory);
  if (isRawSpec(input)) {
    refuse(refuseTooLarge(memory.state, { intent: {}, spec: input }));
    queueOperation(memory, { intent: { kind: 'apply' }, by: 'workflow start', spec: input });
  }
  return runEntity(memory, {
    uid: state.uid,
    messages: messagesOf(memory),
    first:
      'carried' in input
        ? undefined
        : {
            isAccepted: () => hasWork(memory) || !isEmpty(memory),
            withinMs: 30_000,
            otherwise: 'this cluster received no request',
          },
    background: [
      () => keepInstructing(memory),
      () => keepAsking(memory),
      () => keepSearchAttributes(memory),
      () => keepMemo(memory),
      () => keepPublishing(memory),
    ],
    step: () => act(memory),
    budget: { idleEvents: 500 },
    drain: async () => {
      await condition(() => areSent(memory));
      memory.closing = true;
      // A cancel or delete may still arrive meanwhile; the next run carries it out.
      await condition(() => memory.sending.length === 0 && memory.publishing !== true);
    },
    carry: () => packCluster({ ...memory.state, halt: memory.halt }),
    bounds: bounds.cluster,
    // Cancelling the workflow cancels the operation under way.
    onCancel: () => {
      if (memory.state.operation !== undefined)
        acceptCancel(memory, { by: 'a cancellation of the workflow' });
    },
    details: () => detailsOf(memory.state),
  });
}

/** Executes the next operation, or probes the machines of an idle cluster. */
async function act(memory: Memory): Promise<NextStep> {
  if (isCheckDue(memory)) await probeMachines(memory);
  if (hasWork(memory)) {
    delete memory.checkAt;
    const end = await startNextOperation(memory);
    if (end === 'continue') return { renew: true };
    if (await isOver(memory, end)) return { ended: `cluster ${memory.state.name} was deleted` };
    noteChange(memory);
    return {};
  }
  if (unreadText(memory) === undefined) await exchangeOutputs(memory);
  if (followImports(memory)) return {};
  if (memory.state.lease !== undefined) return checkLease(memory);
  return checkMachines(memory);
}

/** Checks the machines periodically if the spec says so. */
async function checkMachines(memory: Memory): Promise<NextStep> {
  const { every } = memory.state.spec?.repair ?? {};
  if (every === undefined) return {};
  memory.checkAt ??= Date.now() + milliseconds(every);
  if (Date.now() < memory.checkAt) return { wakeAt: memory.checkAt };
  delete memory.checkAt;
  await repairMachines(memory);
  noteChange(memory);
  return {};
}

function openState(input: ClusterInput): ClusterState {
  if ('carried' in input) return unpackCluster(input.carried);
  const name = workflowInfo().workflowId.replace(/^cluster\//, '');
  const start = 'heddle' in input ? input.heddle : undefined;
  if (workflowInfo().workflowId !== clusterWorkflowId(name)) {
    throw ApplicationFailure.nonRetryable(
      `a cluster's workflow id is cluster/<name>, not "${workflowInfo().workflowId}"`,
      'Invalid',
    );
  }
  return { ...newCluster(name, start?.uid ?? uuid4()), ...parentOf() };
}

function parentOf(): Pick<ClusterState, 'parent'> {
  const { parent } = workflowInfo();
  return parent === undefined ? {} : { parent: parent.workflowId };
}

function isRawSpec(input: ClusterInput): boolean {
  return !('carried' in input) && !('heddle' in input);
}

function messagesOf(memory: Memory): readonly Message[] {
  return handlersOf(clusterContract, {
    updates: {
      apply: [(request) => acceptApply(memory, request), (request) => refuseApply(memory, request)],
      operate: [(request) => acceptOperate(memory, request), (request) => refuseOperate(memory, request)],
      delete: [(request) => acceptDelete(memory, request), (_request) => refuseDelete(memory)],
      retry: [(_request) => acceptRetry(memory), (request) => refuseRetry(memory, request)],
      cancel: [(request) => acceptCancel(memory, request), (request) => refuseCancel(memory, request)],
      pause: [(request) => acceptPause(memory, request), (_request) => refusePause(memory)],
      resume: [(_request) => acceptResume(memory), (_request) => refuseResume(memory)],
      check: () => requestCheck(memory),
      abandon: [(request) => acceptAbandon(memory, request), (request) => refuseAbandon(memory, request)],
      disown: (machines) => disown(memory, machines),
      lease: [(request) => grantLease(memory, request), (request) => refuseLease(memory, request)],
    },
    signals: {
      requestDelete: (request) => {
        const refusal = refuseDelete(memory);
        if (refusal === undefined) acceptDelete(memory, request);
        else rejectDelete(memory, request, refusal);
      },
      readOutputs: (request) => noteReader(memory, request),
      outputsChanged: () => noteChangedImports(memory),
      report: (report) => applyReport(memory, report),
      release: (request) => releaseLease(memory, request),
    },
    queries: queriesOf(memory),
  });
}

/** The sender of a signal gets no answer; a parent workflow gets an event. */
function rejectDelete(memory: Memory, { by }: PlainRequest, reason: string): void {
  log.warn(`a request of ${by} to delete the cluster is ignored: ${reason}`);
  noteOutcome(memory, {
    ...newOperation('-', { intent: { kind: 'delete' }, by }),
    state: 'rejected',
    reason,
  });
}

function queriesOf(memory: Memory): Handlers<typeof clusterContract>['queries'] {
  return {
    peers: (request) => peersPage(memory.state, request),
    status: () => statusOf(memory.state),
    spec: (which) => (which === 'rollback' ? specBefore(memory.state) : memory.state.spec) ?? null,
    usedResources: () => usedDigests(memory.state),
    outputs: () => {
      refuse(unreadText(memory));
      return outputsOf(memory.state);
    },
    sources: () => Object.keys(importsOf(memory.state.spec)),
    current: () => {
      refuse(unreadText(memory));
      return { ...packCurrent(summarise(memory.state)), basis: basisOf(memory.state) };
    },
    payload: (nodeId) => memory.state.nodes[nodeId]?.payload ?? null,
    node: (nodeId) => nodeReply(memory, nodeId),
    owners: (machines) => machines.map((machine) => ownershipInCluster(memory, machine)),
  };
}

function isEmpty({ state }: Memory): boolean {
  return (
    Object.keys(state.nodes).length === 0 &&
    Object.keys(state.groups).length === 0 &&
    state.operation === undefined &&
    state.history.length === 0
  );
}
