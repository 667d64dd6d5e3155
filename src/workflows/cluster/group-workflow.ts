import { groupContract } from '../../model/cluster/contract.js';
import { bounds } from '../../model/bounds.js';
import { allHandlersFinished, getExternalWorkflowHandle, log } from '@temporalio/workflow';
import { clusterWorkflowId } from '../../model/names.js';
import {
  packGroup,
  unpackGroup,
  nothingPending,
  type CarriedGroupState,
  type GroupStart,
  type GroupState,
  type Instructions,
} from '../../model/cluster/group.js';
import { isRepeated, lastTaken, anyEarlierGroup } from '../../model/cluster/numbered.js';
import { noPeers, peersPage } from '../../model/node/peers.js';
import { nodeStatus, nodesTable } from '../../model/cluster/report.js';
import { groupExecutor, reportOf, progressOf, type GroupMemory } from './group-executor.js';
import { startRun } from './executor.js';
import { carryOutInstruction, isToHalt } from './group-instructions.js';
import { clusterMessages, groupMessages } from '../messages.js';
import { change, newMemory, runEntity, type Message, type NextStep, handlersOf } from '../entity.js';
import { nodeIn } from './lease.js';
import { disownInGroup, ownershipInGroup } from './ownership.js';
import { condition, conditionOf } from '../inbox.js';
import { beganAt, ignore } from '../taken-messages.js';
import { taskTime } from '../recorded.js';

/** How long, in ms, a group with running tasks collects progress before it reports. */
const collectMs = 3_000;

type GroupInput = GroupStart | { readonly carried: CarriedGroupState };

/** A group of nodes of a large cluster. It carries out the cluster's instructions and reports the results. */
export async function group(input: GroupInput): Promise<string> {
  const memory: GroupMemory = { ...newMemory(), state: openState(input), inbox: [], ended: false };
  return runEntity(memory, {
    messages: messagesOf(memory),
    background: [() => keepReporting(memory)],
    step: () => carryOutInstructions(memory),
    isBusy: () => !isAtRest(memory),
    budget: { idleEvents: 500 },
    drain: () => mayEndRun(memory),
    carry: () => packGroup(memory.state),
    bounds: bounds.group,
    details: () => nodesTable(memory.state, memory.state.services),
  });
}

function messagesOf(memory: GroupMemory): readonly Message[] {
  return handlersOf(groupContract, {
    updates: { disown: (machines) => disownInGroup(memory, machines) },
    signals: { instruct: (instructions) => receive(memory, instructions) },
    queries: {
      nodes: () => Object.values(memory.state.nodes).map((node) => nodeStatus(node, memory.state)),
      payload: (nodeId) => memory.state.nodes[nodeId]?.payload ?? null,
      node: (nodeId) => nodeIn(memory.state.nodes, memory.state.clusterUid, nodeId),
      owners: (machines) => machines.map((machine) => ownershipInGroup(memory, machine)),
      peers: (request) => peersPage(memory.state, request),
    },
  });
}

function receive(memory: GroupMemory, instructions: Instructions): void {
  const { uid, received } = memory.state;
  const { groupUid, at } = instructions;
  const isRefused =
    groupUid === uid ? isRepeated(instructions, received) : groupUid !== anyEarlierGroup || at < beganAt();
  if (isRefused) {
    ignore(
      groupMessages.signals.instruct.name,
      'these instructions were accepted before, or are for another start of this group',
    );
    return;
  }
  change(memory, { received: lastTaken(instructions, received) });
  memory.inbox.push(instructions);
}

function openState(input: GroupInput): GroupState {
  if ('carried' in input) return unpackGroup(input.carried);
  return {
    ...input,
    nodes: {},
    peers: noPeers,
    incarnation: 0,
    begun: 0,
    requests: [],
    seen: 0,
    reports: 0,
    peersVersion: 0,
    services: {},
    config: {},
    opened: [],
    batchSlots: [],
    paused: false,
    report: nothingPending,
  };
}

/** Carries out the instructions that have arrived, in order. */
async function carryOutInstructions(memory: GroupMemory): Promise<NextStep> {
  if (memory.run === undefined && memory.state.work !== undefined)
    memory.run = startRun(groupExecutor(memory), memory.state.work);
  for (;;) {
    const [next, ...rest] = memory.inbox;
    if (next === undefined) return {};
    memory.inbox = rest;
    change(memory, { peersVersion: next.peersVersion });
    for (const instruction of next.list) await carryOutInstruction(memory, instruction);
    change(memory, { seen: next.seq });
    memory.unreported = true;
    if (memory.ended) return { ended: `group ${memory.state.group} no longer has nodes` };
  }
}

function isAtRest(memory: GroupMemory): boolean {
  return (
    memory.inbox.length === 0 && memory.unreported !== true && memory.sending !== true && isDrained(memory)
  );
}

/**
 * Waits for running tasks to end. Returns false if an instruction of the cluster arrives that takes
 * precedence.
 */
async function mayEndRun(memory: GroupMemory): Promise<boolean> {
  await drain(memory);
  if (isDrained(memory)) {
    memory.closing = true;
    await condition(() => memory.sending !== true && allHandlersFinished());
    if (memory.inbox.length === 0) return true;
    memory.closing = false;
    if (memory.state.work !== undefined) memory.run = startRun(groupExecutor(memory), memory.state.work);
  }
  return false;
}

/** An instruction that ends the work does not wait for a script, which may take an hour. */
async function drain(memory: GroupMemory): Promise<void> {
  memory.run?.stop();
  await condition(() => isDrained(memory) || isToHalt(memory));
}

function isDrained({ run }: GroupMemory): boolean {
  return run?.over() !== false;
}

/**
 * One report under way at a time, so that they arrive in order; what happens meanwhile goes into the next.
 * Each report is a workflow task of the cluster too, so a group collects progress while its own tasks go on.
 */
async function keepReporting(memory: GroupMemory): Promise<never> {
  const cluster = getExternalWorkflowHandle(clusterWorkflowId(memory.state.cluster));
  let reported = '';
  const isUrgent = (): boolean => isAwaited(memory) || progressText(memory) !== reported;
  for (;;) {
    await conditionOf('reports', () => memory.closing !== true && (memory.unreported === true || isUrgent()));
    if (!isUrgent()) await condition(() => memory.closing === true || isUrgent(), collectMs);
    // The run may have begun to end since the condition held.
    if (memory.closing === true) continue;
    const { report, left } = reportOf(memory);
    reported = progressText(memory);
    memory.unreported = left.length > 0;
    change(memory, { reports: report.seq, report: { ...nothingPending, failures: left } });
    memory.sending = true;
    try {
      await cluster.signal(clusterMessages.signals.report, { ...report, at: taskTime() });
    } catch (error) {
      // Its cluster was terminated: the next one of its name ends it. Unhandled, this would end the worker.
      log.warn('the report of a group was not delivered', {
        why: error instanceof Error ? error.message : String(error),
      });
    } finally {
      memory.sending = false;
    }
  }
}

/** Whether the cluster acts on what is to be reported; counts can wait. */
function isAwaited({ state: { report } }: GroupMemory): boolean {
  return report.failures.length > 0 || report.asks.length > 0 || report.leaves.length > 0;
}

function progressText(memory: GroupMemory): string {
  const { over, quiet } = progressOf(memory);
  return `${memory.state.seen} ${over} ${quiet}`;
}
