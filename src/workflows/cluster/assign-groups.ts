import { nodeId } from '../../model/names.js';
import { isMember, rowsWith, type Instruction } from '../../model/cluster/group.js';
import type { Kind, Plan, ServedPlan } from '../../model/plan/plan.js';
import { indexesOf } from '../../model/plan/ranges.js';
import { servicesOf } from '../../model/cluster/state.js';
import { nodeReferences } from '../../model/cluster/output-nodes.js';
import { taskVariables } from '../../model/cluster/variables.js';
import { removalPolicy } from '../../model/cluster/repair.js';
import { packWork, type Work } from '../../model/cluster/work.js';
import type { Removal } from '../../model/plan/plan.js';
import type { FoundMachines } from './adoption.js';
import { commandOf } from './cluster-executor.js';
import { changeGroup, groupOf, instruct, placeNode } from './groups.js';
import type { Memory } from './memory.js';
import { servicesOfGroups } from './apply-plan.js';
import { change } from '../entity.js';

/**
 * Gives every new node its place, and every group its part of the plan.
 * @returns the part of the cluster's own workflow.
 */
export function assignGroups(
  memory: Memory,
  plan: PlanWithPins,
  assignment: Omit<Assignment, 'nodenums'>,
): readonly Kind[] {
  const nodenums = placeNewNodes(memory, plan);
  for (const id of Object.keys(memory.state.groups))
    instructGroup(memory, plan, id, { ...assignment, nodenums });
  return rowsWith(plan.kinds, (group, index) => groupOf(memory, group, index) === undefined);
}

/** Nodes that this workflow takes itself get their numbers when they are made. */
function placeNewNodes(memory: Memory, plan: Plan): Readonly<Record<string, number>> {
  const nodenums: Record<string, number> = {};
  memory.placing = 0;
  memory.placingServices = 0;
  for (const kind of plan.kinds) {
    if (kind.purpose !== 'create') continue;
    for (const index of indexesOf(kind.nodes)) {
      const id = nodeId(kind.group, index);
      if (memory.state.nodes[id] !== undefined || groupOf(memory, kind.group, index) !== undefined) continue;
      if (placeNode(memory, kind.group, index) !== undefined) nodenums[id] = nextNodenum(memory);
    }
  }
  memory.placing = 0;
  return nodenums;
}

export function nextNodenum(memory: Memory): number {
  const { counters } = memory.state;
  change(memory, { counters: { ...counters, nodenum: counters.nodenum + 1 } });
  return counters.nodenum + 1;
}

type PlanWithPins = Plan & Pick<ServedPlan, 'plugins'>;

/** What is the same for all groups of one plan. */
interface Assignment {
  readonly operation: string;
  readonly nodenums: Readonly<Record<string, number>>;
  readonly adopted: FoundMachines['adopted'];
  /** What the operation names for removal now. */
  readonly removals: readonly Removal[];
}

function instructGroup(
  memory: Memory,
  plan: PlanWithPins,
  id: string,
  { operation, nodenums, adopted, removals }: Assignment,
): void {
  const members = memory.state.groups[id]?.members ?? {};
  const kinds = rowsWith(plan.kinds, (group, index) => isMember(members, group, index));
  const work: Work = {
    ...removalPolicy(memory.state),
    operation,
    retry: memory.state.retry,
    kinds,
    placements: Object.fromEntries(
      Object.entries(plan.placements).filter(([name]) => kinds.some(({ group }) => group === name)),
    ),
    positions: {},
    doneBefore: 0,
    plugins: plan.plugins,
  };
  const lost = rowsWith(removals, (group, index) => isMember(members, group, index));
  const command = commandOf(memory);
  const groupServices = servicesOfGroups(plan);
  const { spec, incarnation, limits, imports } = memory.state;
  const variables = taskVariables(spec, imports);
  const references = nodeReferences(spec);
  const instruction: Instruction = {
    do: 'work',
    work: packWork(work),
    incarnation,
    services: servicesOf(memory.state),
    config: spec?.config ?? {},
    limits,
    nodenums: Object.fromEntries(Object.entries(nodenums).filter(([node]) => isIn(kinds, node))),
    adopted: Object.fromEntries(Object.entries(adopted).filter(([node]) => isIn(kinds, node))),
    ...(lost.length === 0 ? {} : { removals: lost }),
    groupServices,
    command,
    ...(Object.keys(variables).length === 0 ? {} : { variables }),
    ...(references.length === 0 ? {} : { references }),
  };
  // Who begins while the operation is paused starts nothing either.
  const paused: readonly Instruction[] =
    memory.state.operation?.paused === undefined ? [] : [{ do: 'pause', paused: true }];
  // Stopping all groups at the end would cost those without work another message.
  const stopped = kinds.length === 0;
  const stop: readonly Instruction[] = stopped ? [{ do: 'halt', how: 'stop' }] : [];
  instruct(memory, id, ...paused, instruction, ...stop);
  changeGroup(memory, id, {
    stopped,
    waits: [...new Set(kinds.flatMap(({ chain }) => chain.flatMap(({ after = [] }) => after)))],
  });
}

function isIn(kinds: readonly Kind[], node: string): boolean {
  return kinds.some(
    ({ group, nodes }) =>
      node.startsWith(`${group}-`) && indexesOf(nodes).some((index) => nodeId(group, index) === node),
  );
}
