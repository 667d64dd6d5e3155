import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  getExternalWorkflowHandle,
  log,
  ParentClosePolicy,
  sleep,
  startChild,
  uuid4,
} from '@temporalio/workflow';
import { groupQueue, groupWorkflowId, groupWorkflowType, nodeId } from '../../model/names.js';
import {
  addMember,
  isMember,
  newGroup,
  sizeOf,
  type GroupStart,
  type Instruction,
  type Instructions,
  type Members,
  type NodeGroup,
} from '../../model/cluster/group.js';
import { keyOfOperation } from '../../model/cluster/operation.js';
import { anyEarlierGroup } from '../../model/cluster/numbered.js';
import { firstWithin, jsonBytes, mostSent } from '../../model/carried.js';
import { membershipVersion } from '../../model/node/peers.js';
import { mostServices } from '../../model/node/room.js';
import { countOf } from '../../model/plan/ranges.js';
import { workflowTaskMs } from '../../model/resumption.js';
import { defaultPriorityKey, spend } from '../schedule.js';
import { changeOperation, type Memory } from './memory.js';
import { groupMessages } from '../messages.js';
import { condition, conditionOf } from '../inbox.js';
import { leaveMark, takeMessage, taskTime } from '../recorded.js';
import { change } from '../entity.js';

/** The cluster's side of its groups: membership, and the instructions sent to them. */
export function groupOf({ state }: Memory, specGroup: string, index: number): string | undefined {
  return Object.entries(state.groups).find(([, { members }]) => isMember(members, specGroup, index))?.[0];
}

export function groupOfNode(memory: Memory, id: string): string | undefined {
  const dash = id.lastIndexOf('-');
  const [specGroup, index] = [id.slice(0, dash), Number(id.slice(dash + 1))];
  // `app-03` is not another name of `app-3`.
  return nodeId(specGroup, index) === id ? groupOf(memory, specGroup, index) : undefined;
}

export function changeGroup(memory: Memory, id: string, part: Partial<NodeGroup>): void {
  const group = memory.state.groups[id];
  if (group === undefined) return;
  change(memory, { groups: { ...memory.state.groups, [id]: { ...group, ...part } } });
}

/** Finds a place for a new node: in the cluster's own workflow, in a group with room, else in a new group. */
export function placeNode(memory: Memory, specGroup: string, index: number): string | undefined {
  const { limits, nodes, groups, counters } = memory.state;
  const servicesIn = (group: string): number => memory.state.spec?.nodes[group]?.services.length ?? 0;
  const own = servicesIn(specGroup);
  const inline = Object.values(nodes).reduce((sum, { services }) => sum + services.length, own);
  if (
    Object.keys(nodes).length + memory.placing < limits.inlineNodes &&
    inline + memory.placingServices <= mostServices
  ) {
    memory.placing += 1;
    memory.placingServices += own;
    return undefined;
  }
  const servicesOfAll = (members: Members): number =>
    Object.entries(members).reduce((sum, [group, ranges]) => sum + servicesIn(group) * countOf(ranges), own);
  const roomy = Object.entries(groups).find(
    ([, { members, ending }]) =>
      ending !== true && sizeOf(members) < limits.groupNodes && servicesOfAll(members) <= mostServices,
  )?.[0];
  const id = roomy ?? String(counters.group + 1);
  if (roomy === undefined) {
    change(memory, {
      counters: { ...counters, group: counters.group + 1 },
      groups: { ...groups, [id]: newGroup },
    });
  }
  changeGroup(memory, id, { members: addMember(memory.state.groups[id]?.members ?? {}, specGroup, index) });
  return id;
}

export function instruct(memory: Memory, id: string, ...list: readonly Instruction[]): void {
  const group = memory.state.groups[id];
  if (group !== undefined) changeGroup(memory, id, { pending: [...group.pending, ...list] });
}

export function instructAll(memory: Memory, instruction: Instruction): void {
  for (const id of Object.keys(memory.state.groups)) instruct(memory, id, instruction);
}

/**
 * Has groups report what was not carried from the run before, and stop their part of a plan that was not:
 * before any of their reports is taken, which could let them go on.
 */
export function resumeGroups(memory: Memory): void {
  if (memory.state.unplanned === true) instructAll(memory, stopWork);
  for (const [id, group] of Object.entries(memory.state.groups))
    if (group.unread === true || isAtWork(group)) instruct(memory, id, askState);
}

/** Interval between checks of groups at work. */
const askEvery = '5 minutes';

/** The server does not tell a run that a group of an earlier run has ended; an instruction to it fails. */
export async function keepAsking(memory: Memory): Promise<never> {
  const atWork = (): readonly string[] =>
    Object.entries(memory.state.groups).flatMap(([id, group]) => (isAtWork(group) ? [id] : []));
  for (;;) {
    await conditionOf('silent groups', () => atWork().length > 0);
    await sleep(askEvery);
    // What came with the timer is taken in first. The mark is for a timer that finds no group at work.
    await conditionOf('silent groups', () => true);
    leaveMark();
    for (const id of atWork()) instruct(memory, id, askState);
  }
}

const stopWork: Instruction = { do: 'halt', how: 'stop' };
/**
 * Opens nothing: a group reports what its nodes are when it has carried out instructions and no work is under
 * way.
 */
const askState: Instruction = { do: 'open', gates: [], batchSlots: [] };

/**
 * A group has carried out instructions that the cluster has not sent since a reset. What the cluster believes
 * of it is out of date: it asks, and plans again when the work of the present plan has stopped.
 */
export function catchUp(memory: Memory, id: string): void {
  const { work, unplanned } = memory.state;
  if (work !== undefined && unplanned !== true) {
    change(memory, { unplanned: true });
    instructAll(memory, stopWork);
  }
  changeGroup(memory, id, { unread: true });
  instruct(memory, id, askState);
}

/** Why the cluster cannot say what its nodes are at present; undefined if it can. */
export function unreadText({ state: { name, groups } }: Memory): string | undefined {
  return Object.values(groups).some(({ unread }) => unread === true)
    ? `cluster ${name} is reading its nodes; try again in a few seconds`
    : undefined;
}

/**
 * A run sends the parts of its plan to all groups, because they do not fit into what it carries to the next.
 */
export function areSent({ state }: Memory): boolean {
  return Object.values(state.groups).every(({ pending }) => pending.length === 0);
}

/** Only groups that have a part in the operation's work. */
export function instructWorking(memory: Memory, instruction: Instruction): void {
  for (const [id, { stopped }] of Object.entries(memory.state.groups))
    if (stopped !== true) instruct(memory, id, instruction);
}

/** Every group has carried out all of its instructions, and no work is under way there. */
export function groupsOver(memory: Memory): boolean {
  return Object.values(memory.state.groups).every((group) => isUpToDate(group) && group.over);
}

/** As `groupsOver`, or the work there waits for gates and batch slots that stay closed. */
export function groupsQuiet(memory: Memory): boolean {
  return Object.values(memory.state.groups).every(
    (group) => isUpToDate(group) && (group.quiet || group.over),
  );
}

/** The cluster waits for a report. */
function isAtWork(group: NodeGroup): boolean {
  return !isUpToDate(group) || !(group.quiet || group.over);
}

function isUpToDate({ pending, sent, seen }: NodeGroup): boolean {
  return pending.length === 0 && sent === seen;
}

/** Ends groups without nodes. */
export function endEmptyGroups(memory: Memory): void {
  for (const [id, { members, ending }] of Object.entries(memory.state.groups)) {
    if (sizeOf(members) > 0 || ending === true) continue;
    changeGroup(memory, id, { ending: true });
    instruct(memory, id, { do: 'end' });
  }
}

/** Sends pending instructions, to each group one message at a time. */
export async function keepInstructing(memory: Memory): Promise<never> {
  const sendable = (): readonly string[] =>
    Object.entries(memory.state.groups).flatMap(([id, { pending }]) =>
      pending.length > 0 && memory.closing !== true && !memory.sending.includes(id) ? [id] : [],
    );
  for (;;) {
    await condition(() => sendable().length > 0);
    for (const id of sendable()) void send(memory, id);
  }
}

async function send(memory: Memory, id: string): Promise<void> {
  const group = memory.state.groups[id];
  if (group === undefined) return;
  memory.sending = [...memory.sending, id];
  const seq = group.sent + 1;
  // Those of a second plan may wait behind those of the first.
  const list = firstWithin(group.pending, mostSent - 1_000);
  const { peers } = memory.state;
  changeGroup(memory, id, { pending: group.pending.slice(list.length), sent: seq });
  try {
    if (seq === 1) await startOnceFree(memory, id);
    await spend(jsonBytes(list));
    const instructions: Instructions = {
      groupUid: memory.state.groups[id]?.uid ?? '',
      seq,
      at: taskTime(),
      peersVersion: membershipVersion(peers),
      list,
    };
    await getExternalWorkflowHandle(groupWorkflowId(memory.state.name, id)).signal(
      groupMessages.signals.instruct,
      instructions,
    );
    if (memory.state.groups[id]?.ending === true) forgetGroup(memory, id);
  } catch (error) {
    // Its end may have been noted, and the group forgotten, while the message was on its way.
    if (memory.state.groups[id] !== undefined) lose(memory, id, error);
  } finally {
    memory.sending = memory.sending.filter((other) => other !== id);
  }
}

export function lostGroups({ state: { groups } }: Memory): readonly string[] {
  return Object.keys(groups).filter((id) => groups[id]?.lost === true);
}

export function forgetGroup(memory: Memory, id: string): void {
  const { [id]: _ended, ...groups } = memory.state.groups;
  change(memory, { groups });
}

/** How often to try, 2 seconds apart: a group that ends waits a minute for the tasks that it cancels. */
const mostTries = 60;

/** Ends groups of this name first that the cluster did not start. */
async function startOnceFree(memory: Memory, id: string): Promise<void> {
  const { name, uid: clusterUid, limits } = memory.state;
  const operation = keyOfOperation(memory.state);
  const workflowId = groupWorkflowId(name, id);
  for (let tries = 1; ; tries += 1) {
    // In the same workflow task as the start, so that no reset can separate them.
    const uid = uuid4();
    changeGroup(memory, id, { uid });
    const start: GroupStart = { cluster: name, clusterUid, group: id, uid, operation, limits };
    try {
      const started = await startChild<(input: GroupStart) => Promise<string>>(groupWorkflowType, {
        workflowId,
        taskQueue: groupQueue,
        args: [start],
        workflowTaskTimeout: workflowTaskMs,
        priority: { priorityKey: priorityOf(id) },
        parentClosePolicy: ParentClosePolicy.ABANDON,
        staticSummary: `group ${id} of cluster ${name}`,
      });
      void started.result().catch((error: unknown) => noteEnd(memory, id, uid, error));
      return;
    } catch (error) {
      // A group of a run that was terminated or cut off: its machines are adopted, the group is not.
      if (!(error instanceof WorkflowExecutionAlreadyStartedError) || tries === mostTries) throw error;
      await endGroupOfEarlier(workflowId);
      await sleep('2 seconds');
    }
  }
}

/** Only the run that started a group learns of its end; `keepAsking` finds out in a further run. */
function noteEnd(memory: Memory, id: string, uid: string, error: unknown): void {
  takeMessage();
  leaveMark();
  if (memory.state.groups[id]?.uid === uid) lose(memory, id, error);
}

/** Ends a group of an earlier cluster of this name, or of a run of this one that a reset cut off. */
export async function endGroupOfEarlier(workflowId: string): Promise<void> {
  const end: Instructions = {
    groupUid: anyEarlierGroup,
    seq: 0,
    at: taskTime(),
    peersVersion: 0,
    list: [{ do: 'end' }],
  };
  await getExternalWorkflowHandle(workflowId)
    .signal(groupMessages.signals.instruct, end)
    .catch(() => undefined);
}

/**
 * Groups finish one after the other instead of all at the end, so that fewer of them hold their history in a
 * worker's memory at a time, and a cluster does not wait for the last groups of a larger one.
 */
function priorityOf(group: string): number {
  const number = Number(group);
  if (number <= 20) return defaultPriorityKey;
  return defaultPriorityKey + (number <= 50 ? 1 : 2);
}

/**
 * A group that is gone was terminated from outside, or had ended before a reset of the cluster. Its nodes are
 * unknown until an apply looks for their machines.
 */
function lose(memory: Memory, id: string, error: unknown): void {
  const why = error instanceof Error ? error.message : String(error);
  if (memory.state.operation?.kind === 'delete') {
    // Its nodes can no longer be taken down; the sweep finds their machines once the cluster is gone.
    const nodes = sizeOf(memory.state.groups[id]?.members ?? {});
    changeOperation(memory, {
      abandoned: [
        ...(memory.state.operation.abandoned ?? []),
        `group ${id}, ${nodes} nodes (${why}); see heddle leaks`,
      ],
    });
    forgetGroup(memory, id);
    return;
  }
  log.error(`group ${id} cannot receive instructions`, { why });
  changeGroup(memory, id, {
    lost: true,
    pending: [],
    rows: [],
    outputNodes: undefined,
    seen: memory.state.groups[id]?.sent ?? 0,
    unread: undefined,
    over: true,
    quiet: true,
    failed: sizeOf(memory.state.groups[id]?.members ?? {}),
  });
  changeOperation(memory, {
    reason: `the workflow ${groupWorkflowId(memory.state.name, id)} is gone (${why}), so its nodes are no longer known; was it terminated? Run 'heddle apply FILE' to look for their machines`,
  });
}
