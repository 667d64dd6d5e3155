import { bringsToSpec } from '../intent/intent.js';
import type { PlannedFacts, NodeSummary } from '../facts/current.js';
import type { PlanningInput } from '../context.js';
import type { Drift } from '../../node/drift.js';
import { nodeId } from '../../names.js';
import { indexesOf, rangesOf } from '../ranges.js';
import { isTouched, isWholeNode, splitRow } from '../intent/scope.js';
import { defaultRepair } from '../../cluster/default-repair.js';
import type { RepairSpec } from '../../cluster/spec.js';

/** Why a node gets another machine, and whether the one that it has can still carry out a script. */
export interface Replacement {
  readonly why: string;
  readonly answers: boolean;
}

const lost = {
  gone: 'its machine is gone',
  stopped: 'its machine is switched off',
  unreachable: 'its machine does not answer',
} as const satisfies Partial<Record<Drift, string>>;

/** Whether a node that stays gets another machine. */
export function replacementOf(input: PlanningInput, summary: NodeSummary): Replacement | undefined {
  const { group, facts } = summary;
  const { kind } = input.intent;
  if (!isTouched(input, summary)) return undefined;
  const answers = !isLost(facts.seen);
  if (facts.toReplace === true) return { why: 'its replacement was requested', answers };
  if (!bringsToSpec(kind)) return undefined;
  if (isLost(facts.seen) && !isLocked(input) && repairOf(input)[facts.seen] === 'replace')
    return { why: lost[facts.seen], answers };
  // Limited to services, an apply leaves machines that work.
  if (input.scope?.services !== undefined) return undefined;
  return isMisplaced(input, group, facts)
    ? { why: 'the configuration of its machine changed', answers }
    : undefined;
}

/** The spec before or the new one forbids the loss of machines: a file that unlocks is applied first. */
export function isLocked({ current, spec }: PlanningInput): boolean {
  return current.locked === true || spec?.lock === true;
}

export function isLost(seen: Drift | undefined): seen is keyof typeof lost {
  return seen !== undefined && Object.hasOwn(lost, seen);
}

/**
 * A machine that came up again, or has another address, is confirmed once more; what a reboot ended is
 * started again.
 */
export interface Unconfirmed {
  readonly facts: PlannedFacts;
  /** Present if CONFIRM must be repeated. */
  readonly why?: string;
}

export function probeAgain(input: PlanningInput, facts: PlannedFacts): Unconfirmed {
  const { seen, CONFIRM: _confirmed, ...unconfirmed } = facts;
  if (seen === 'moved' && repairOf(input).moved === 'confirm')
    return { facts: unconfirmed, why: 'its machine has another address' };
  if (seen !== 'rebooted' || repairOf(input).rebooted !== 'start') return { facts };
  return { facts: { ...unconfirmed, services: afterReboot(facts).services }, why: cameUpAgain };
}

export const cameUpAgain = 'its machine was rebooted';

/** Services that ran before a reboot no longer run. */
export function afterReboot(facts: PlannedFacts): PlannedFacts {
  const services = Object.fromEntries(
    Object.entries(facts.services).map(([name, { START: _ran, begun: _cut, ...rest }]) => [name, rest]),
  );
  return { ...facts, services };
}

export interface Split {
  readonly staying: readonly number[];
  readonly leaving: readonly number[];
}

export function splitByCount(input: PlanningInput, summary: NodeSummary): Split {
  const count = countIn(input, summary.group);
  const indexes = indexesOf(summary.nodes);
  return {
    staying: indexes.filter((index) => index <= count),
    leaving: indexes.filter((index) => index > count && isWholeNode(input, nodeId(summary.group, index))),
  };
}

/** Nodes of the plan that the spec has and the cluster does not. */
export function missingNodes(input: PlanningInput): readonly NodeSummary[] {
  const present = new Map<string, Set<number>>();
  for (const { group, nodes } of input.current.nodes) {
    const indexes = present.get(group) ?? new Set();
    for (const index of indexesOf(nodes)) indexes.add(index);
    present.set(group, indexes);
  }
  return Object.keys(input.spec?.nodes ?? {})
    .flatMap((group) => {
      const there = present.get(group);
      const missing = indexesOf([[1, countIn(input, group)]]).filter((index) => there?.has(index) !== true);
      const row = { group, nodes: rangesOf(missing), facts: { services: {} } };
      return missing.length === 0 ? [] : splitRow(row, input.scope?.nodes);
    })
    .filter((row) => isTouched(input, row));
}

function countIn({ spec }: PlanningInput, group: string): number {
  return spec?.nodes[group]?.count ?? 0;
}

function repairOf({ spec }: PlanningInput): RepairSpec {
  return spec?.repair ?? defaultRepair;
}

function isMisplaced(input: PlanningInput, group: string, facts: PlannedFacts): boolean {
  const wanted = input.placements[group] ?? [];
  return facts.machine !== undefined && !wanted.some(({ digest }) => digest === facts.machine);
}
