import type { Forgotten, GroupState, Instruction } from '../../model/cluster/group.js';
import { isUndeletable } from '../../model/node/abandon.js';
import { isTriedAgain, recordRetry, reopenLastRun } from '../../model/node/record.js';
import { abandonNode, cancelRun, excludeNode, forgetRemoved } from './carried-nodes.js';
import { discardIncomplete } from './discard.js';
import { startRun } from './executor.js';
import { forgetOperation, forgottenNodes, restoreNodes } from './forgotten.js';
import { groupExecutor, type GroupMemory } from './group-executor.js';
import { changeNodes } from './memory.js';
import { probeNodes } from './probe-nodes.js';
import { applyPlan } from './apply-plan.js';
import { unpackWork, type Work } from '../../model/cluster/work.js';
import { uidOfKey } from '../../model/names.js';
import { condition } from '../inbox.js';
import { change } from '../entity.js';

/** Requests that a group knows again if they are delivered once more. */
const rememberedRequests = 40;

/** Carries out one instruction of the cluster. Chains that it starts run in the background. */
export async function carryOutInstruction(memory: GroupMemory, instruction: Instruction): Promise<void> {
  switch (instruction.do) {
    case 'begin':
      return beginOperation(memory, instruction);
    case 'restore':
      return restore(memory);
    case 'probe':
      return probeGroup(memory);
    case 'work':
      return work(memory, instruction);
    case 'open':
      change(memory, {
        opened: [...memory.state.opened, ...instruction.gates],
        batchSlots: [...memory.state.batchSlots, ...instruction.batchSlots],
      });
      return undefined;
    case 'abandon':
      return abandon(memory, instruction);
    case 'exclude':
      return exclude(memory, instruction);
    case 'pause':
      change(memory, { paused: instruction.paused });
      return undefined;
    case 'halt':
      return halt(memory, instruction);
    case 'end':
      await halt(memory, { how: 'cancel' });
      memory.ended = true;
  }
}

type InstructionTo<Do extends Instruction['do']> = Extract<Instruction, { readonly do: Do }>;

async function beginOperation(
  memory: GroupMemory,
  {
    operation,
    fresh,
    toReplace,
    probe,
    retried,
    retriedAt,
    retry,
    keepsExcluded,
    settled,
  }: InstructionTo<'begin'>,
): Promise<void> {
  await endUnknownWork(memory);
  const { operation: last, begun, requests } = memory.state;
  const isSame = uidOfKey(operation) === uidOfKey(last);
  const isKnownRetry = retry !== undefined && requests.includes(retry);
  // After a reset of the cluster, a request is delivered once more: what it named for replacement has been
  // replaced.
  const isKnown = isKnownRetry || (fresh && (isSame || requests.includes(uidOfKey(operation))));
  const left = Object.values(memory.state.nodes).flatMap(({ nodeId, facts }) =>
    facts.toReplace === true ? [nodeId] : [],
  );
  const stillToReplace = isSame ? left : [];
  if (fresh) change(memory, { forgotten: forgottenOf(memory.state) });
  if (settled === true) forgetRemoved(memory, memory.state.services);
  change(memory, {
    operation,
    begun: begun + (isSame ? 0 : 1),
    // What left something to replace is not done, so it is not known when it comes again.
    requests: remember(requests, isSame || left.length > 0 ? undefined : uidOfKey(last), retry),
  });
  if (fresh) {
    const shown = forgetOperation(memory, retried);
    if (shown.length > 0) groupExecutor(memory).announced(shown);
  }
  changeNodes(memory, (node) => {
    const isKept = keepsExcluded === true || !isTriedAgain(node, uidOfKey(operation), retried);
    if (node.excluded !== undefined && isKept) return node;
    const rest = recordRetry(isKnownRetry ? reopenLastRun(node) : node, retriedAt);
    return (isKnown ? stillToReplace : toReplace).includes(node.nodeId)
      ? { ...rest, facts: { ...rest.facts, toReplace: true } }
      : rest;
  });
  if (probe) await probeGroup(memory);
}

function remember(requests: readonly string[], ...more: readonly (string | undefined)[]): readonly string[] {
  const all = [...requests, ...more.filter((uid) => uid !== undefined)];
  return [...new Set(all)].slice(-rememberedRequests);
}

/** After a reset of the cluster, the group may work on an operation that the cluster does not know. */
async function endUnknownWork(memory: GroupMemory): Promise<void> {
  if (memory.run === undefined && memory.state.work === undefined) return;
  await halt(memory, { how: 'stop' });
  // Not everything has ended: the cluster cancels it.
  if (memory.run !== undefined) await halt(memory, { how: 'cancel' });
}

function forgottenOf({ operation, begun, requests, nodes }: GroupState): Forgotten {
  return { operation, begun, requests, nodes: forgottenNodes(nodes) };
}

/** An operation that is rejected changes nothing. */
function restore(memory: GroupMemory): void {
  const { forgotten } = memory.state;
  if (forgotten === undefined) return;
  const { nodes, operation, begun, requests } = forgotten;
  change(memory, { operation, begun, requests, forgotten: undefined });
  restoreNodes(memory, nodes, (services) => {
    groupExecutor(memory).announced(services);
  });
}

async function probeGroup(memory: GroupMemory): Promise<void> {
  const { cluster, clusterUid, services } = memory.state;
  await probeNodes({
    memory,
    clusterId: cluster,
    uid: clusterUid,
    services,
    isHalted: () => isToHalt(memory),
  });
}

/** Something that ends the work under way has come, and was not carried out yet. */
export function isToHalt({ inbox }: GroupMemory): boolean {
  return inbox.some(({ list }) =>
    list.some((instruction) => instruction.do === 'halt' || instruction.do === 'end'),
  );
}

function work(memory: GroupMemory, instruction: InstructionTo<'work'>): void {
  const {
    work: packed,
    nodenums,
    adopted,
    removals,
    groupServices,
    incarnation,
    services,
    config,
    command,
    variables,
    references,
    limits,
  } = instruction;
  const given: Work = { ...unpackWork(packed), begun: memory.state.begun };
  const before = memory.state.peers.version;
  change(memory, {
    services,
    config,
    limits,
    incarnation: Math.max(incarnation, memory.state.incarnation),
    opened: [],
    batchSlots: [],
    work: given,
    forgotten: undefined,
    command,
    variables,
    references,
  });
  applyPlan(memory, {
    cluster: memory.state.cluster,
    kinds: given.kinds,
    nodenum: (nodeId) => nodenums[nodeId] ?? 0,
    services: groupServices,
    adopted,
    operation: given.operation,
    removals,
  });
  const executor = groupExecutor(memory);
  if (memory.state.peers.version !== before)
    executor.announced(
      Object.keys(memory.state.peers.changedAt).filter(
        (name) => (memory.state.peers.changedAt[name] ?? 0) > before,
      ),
    );
  memory.run = startRun(executor, given);
}

function abandon(memory: GroupMemory, { nodeId, by }: InstructionTo<'abandon'>): void {
  const node = memory.state.nodes[nodeId];
  if (node !== undefined && isUndeletable(node)) abandonNode(groupExecutor(memory), node, by);
}

function exclude(memory: GroupMemory, { nodeId, remaining }: InstructionTo<'exclude'>): void {
  excludeNode(groupExecutor(memory), nodeId, { operation: uidOfKey(memory.state.operation), remaining });
}

/** Something that cancels the work under way has come. */
function isToCancel({ inbox }: GroupMemory): boolean {
  return inbox.some(({ list }) =>
    list.some(
      (instruction) =>
        instruction.do === 'end' || (instruction.do === 'halt' && instruction.how === 'cancel'),
    ),
  );
}

async function halt(
  memory: GroupMemory,
  { how, discard }: Pick<InstructionTo<'halt'>, 'how' | 'discard'>,
): Promise<void> {
  const { run } = memory;
  const executor = groupExecutor(memory);
  if (run !== undefined && how === 'settle' && !run.quiet())
    await condition(() => run.quiet() || isToCancel(memory));
  if (run !== undefined && how === 'cancel') await cancelRun(run);
  else if (run !== undefined) {
    run.stop();
    await condition(() => run.over() || isToHalt(memory));
    if (!run.over()) return;
  }
  delete memory.run;
  change(memory, { paused: false });
  if (discard !== undefined) await discardIncomplete(executor, discard, () => isToHalt(memory));
  change(memory, { work: undefined, command: undefined });
}
