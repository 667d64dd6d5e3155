import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { clusterWorkflowId } from '../model/names.js';
import {
  nothingPending,
  type GroupReport,
  type GroupStart,
  type GroupState,
  type Instruction,
} from '../model/node-group.js';
import { noPeers, peersPage } from '../model/peers.js';
import { nodeStatus, nodesTable } from '../model/report.js';
import { groupCrew, reportOf, standingOf, type GroupMemory } from './cluster/group-crew.js';
import { carryOutInstruction, isToHalt } from './cluster/group-instructions.js';
import {
  disownUpdate,
  instructSignal,
  nodeQuery,
  nodesQuery,
  ownersQuery,
  payloadQuery,
  peersQuery,
  reportSignal,
} from './messages.js';
import { noCheck } from './no-check.js';
import { nodeIn } from './cluster/lend.js';
import { disownInGroup, ownershipInGroup } from './cluster/ownership.js';

export type GroupInput = GroupStart | { readonly carried: GroupState };

/**
 * A group of nodes of a large cluster. It does what the cluster's workflow tells it, and reports what came of
 * it.
 */
export async function group(input: GroupInput): Promise<string> {
  // Its machines belong to the cluster: only the cluster ends it.
  return CancellationScope.nonCancellable(() => live(input));
}

async function live(input: GroupInput): Promise<string> {
  const memory: GroupMemory = { state: openState(input), inbox: [], stale: true, ended: false };
  setHandler(
    instructSignal,
    (instructions) => {
      memory.inbox.push(instructions);
    },
    { description: 'What the cluster tells its group to do.' },
  );
  setHandler(nodesQuery, () => Object.values(memory.state.nodes).map(nodeStatus), {
    description: 'The nodes, without secrets.',
  });
  setHandler(payloadQuery, (nodeId) => memory.state.nodes[nodeId]?.payload ?? null, {
    description: 'All that is known of a node, credentials included.',
  });
  setHandler(nodeQuery, (nodeId) => nodeIn(memory.state.nodes, memory.state.clusterUid, nodeId), {
    description: 'A node, credentials included, for who is to work on it.',
  });
  setHandler(peersQuery, (request) => peersPage(memory.state, request), {
    description: 'Nodes that changed since a version.',
  });
  setHandler(ownersQuery, (machines) => machines.map((machine) => ownershipInGroup(memory, machine)), {
    description: 'Whose machines are these?',
  });
  setHandler(disownUpdate, (machines) => disownInGroup(memory, machines), {
    validator: noCheck,
    description: 'The same; keys of free ones are never used again.',
  });
  void keepShown(memory);
  const sending = keepReporting(memory);
  await Promise.race([keepCarryingOut(memory), sending]);
  if (memory.ended) return `group ${memory.state.group} has no nodes any more`;
  return continueAsNew<typeof group>({ carried: memory.state });
}

function openState(input: GroupInput): GroupState {
  if ('carried' in input) return input.carried;
  return {
    ...input,
    stateVersion: 1,
    nodes: {},
    peers: noPeers,
    incarnation: 0,
    operation: '0',
    seen: 0,
    peersVersion: 0,
    services: {},
    config: {},
    opened: [],
    turns: [],
    paused: false,
    report: nothingPending,
  };
}

/** Ends when the group is to end, or to go on in a new run. */
async function keepCarryingOut(memory: GroupMemory): Promise<void> {
  if (memory.state.work !== undefined) memory.run = groupCrew(memory).start(memory.state.work);
  for (;;) {
    await condition(() => memory.inbox.length > 0 || isWorn(memory));
    if (memory.inbox.length === 0 && (await mayEndRun(memory))) return;
    const [next, ...rest] = memory.inbox;
    if (next === undefined) continue;
    memory.inbox = rest;
    memory.state = { ...memory.state, peersVersion: next.peersVersion };
    for (const instruction of next.list) await carryOutOne(memory, instruction);
    memory.state = { ...memory.state, seen: next.seq };
    memory.unreported = true;
    if (memory.ended) return;
  }
}

async function carryOutOne(memory: GroupMemory, instruction: Instruction): Promise<void> {
  await carryOutInstruction(memory, instruction);
  memory.stale = true;
}

/** Events after which a group at rest goes on in a new run; see `cluster`. */
const mostEventsAtRest = 500;

function isWorn(memory: GroupMemory): boolean {
  if (memory.ended) return false;
  const { continueAsNewSuggested, historyLength } = workflowInfo();
  return continueAsNewSuggested || (historyLength > mostEventsAtRest && isAtRest(memory));
}

function isAtRest(memory: GroupMemory): boolean {
  return (
    memory.inbox.length === 0 && memory.unreported !== true && memory.sending !== true && isDrained(memory)
  );
}

/**
 * Lets what is in flight come to its end. False when the cluster has something to say meanwhile that goes
 * first.
 */
async function mayEndRun(memory: GroupMemory): Promise<boolean> {
  memory.draining = true;
  await drain(memory);
  if (isDrained(memory)) {
    memory.closing = true;
    await condition(() => memory.sending !== true && allHandlersFinished());
    if (memory.inbox.length === 0) return true;
    memory.closing = false;
    if (memory.state.work !== undefined) memory.run = groupCrew(memory).start(memory.state.work);
  }
  memory.draining = false;
  return false;
}

/** A script may take an hour: what is to end it does not wait for it. */
async function drain(memory: GroupMemory): Promise<void> {
  memory.run?.stop();
  await condition(() => isDrained(memory) || isToHalt(memory));
}

function isDrained({ run }: GroupMemory): boolean {
  return run?.over() !== false;
}

/**
 * One report under way at a time, so that they arrive in order; what happens meanwhile goes into the next.
 */
async function keepReporting(memory: GroupMemory): Promise<never> {
  const cluster = getExternalWorkflowHandle(clusterWorkflowId(memory.state.cluster));
  let told = '';
  for (;;) {
    await condition(
      () => memory.closing !== true && (memory.unreported === true || standing(memory) !== told),
    );
    // The run may have begun to end since the condition held.
    if (memory.closing === true) continue;
    const report: GroupReport = reportOf(memory);
    told = standing(memory);
    memory.unreported = false;
    memory.state = { ...memory.state, report: nothingPending };
    memory.sending = true;
    try {
      await cluster.signal(reportSignal, report);
    } finally {
      memory.sending = false;
    }
  }
}

function standing(memory: GroupMemory): string {
  const { over, quiet } = standingOf(memory);
  return `${over} ${quiet}`;
}

async function keepShown(memory: GroupMemory): Promise<never> {
  for (;;) {
    await condition(() => memory.stale);
    memory.stale = false;
    setCurrentDetails(nodesTable(memory.state));
  }
}
