import type { PlanPreview } from '../../../client/preview.js';
import { countOf, isEmptyPlan, type Kind, type Plan } from '../../../model/plan/plan.js';
import { cleanLine } from '../../clean-text.js';
import type { Output } from '../../output.js';
import { wrapTo } from '../../table.js';
import { describeGate, taskWords } from '../node-text.js';
import { describeDrift, driftOf } from './drift.js';
import { describeCounts, describeLeft, describeNodes, signs } from './plan-text.js';
import { optional } from '../../format.js';

export interface ShownPlan {
  /** Of the cluster. */
  readonly name: string;
  /** The operation, in words. */
  readonly what: string;
  readonly preview: PlanPreview;
}

/** A plan for people: equal nodes are shown once, with their actions in order. */
export function printPlan(output: Output, { name, what, preview }: ShownPlan): void {
  const { plan, current, warnings } = preview;
  for (const warning of warnings) output.line(`warning: ${warning}`, 'yellow');
  const drift = driftOf(current, plan);
  for (const line of drift.map(describeDrift)) output.line(`drift: ${line}`, 'yellow');
  const { stopped = [] } = current;
  if (stopped.length > 0) output.line(`stopped by a user, and not started: ${stopped.join(', ')}`);
  const left = describeLeft(plan);
  if (isEmptyPlan(plan)) {
    output.line('No changes.');
    if (left !== undefined) output.line(left);
    return;
  }
  if (drift.length + stopped.length > 0) output.line();
  output.raw(`cluster ${output.style('bold', cleanLine(name))}: ${cleanLine(what)}`);
  printChanges(output, preview.changes);
  for (const kind of plan.kinds.filter(({ chain }) => chain.length > 0)) printKind(output, plan, kind);
  const { later = [], notes = [] } = plan;
  if (notes.length > 0) output.line();
  for (const note of notes) output.line(`note: ${cleanLine(note)}`, 'yellow');
  if (later.length > 0) {
    output.line();
    output.line('The rest is planned again after these tasks. As of now, it consists of:');
    for (const kind of later) printKind(output, plan, kind);
  }
  output.line();
  output.line(describeCounts(plan), 'bold');
  if (left !== undefined) output.line(left);
}

const diffStyles = { '+': 'green', '-': 'red', ' ': undefined } as const;

function printChanges(output: Output, changes: PlanPreview['changes']): void {
  for (const { path, lines } of changes) {
    output.line();
    output.line(`  ${cleanLine(path)}`);
    for (const { sign, text } of lines) output.line(`    ${sign} ${cleanLine(text)}`, diffStyles[sign]);
  }
}

function printKind(output: Output, plan: Plan, kind: Kind): void {
  const { sign, verb, style } = signs[kind.purpose];
  const count = countOf(kind.nodes);
  const from = kind.chain.some(({ action }) => action === 'CREATE')
    ? describePlacement(plan, kind.group)
    : '';
  const why = wholeReason(kind);
  output.line();
  const head = cleanLine(
    `${sign} ${verb} ${describeNodes(kind)}${count > 1 ? ` (${count} nodes)` : ''}${from}${optional(': ', why)}`,
  );
  output.line(head, style);
  const width = Math.max(...kind.chain.map((step) => taskWords(step).length));
  const indent = 4 + 3 + 1 + width + 2;
  kind.chain.forEach((step, index) => {
    const reason =
      step.reason === undefined || (index === 0 && why !== undefined) ? [] : [cleanLine(step.reason)];
    const waits = [...new Set(newGates(kind, index).map(describeGate))];
    const after = waits.length === 0 ? [] : [`waits for: ${waits.join(', ')}`];
    const [first = '', ...rest] = wrapTo(
      [...reason, ...after].join('; '),
      (output.columns ?? Infinity) - indent - 1,
    );
    output.line(`    ${`${index + 1}.`.padStart(3)} ${taskWords(step).padEnd(width)}  ${first}`.trimEnd());
    for (const line of rest) output.line(`${' '.repeat(indent)}${line}`);
  });
}

/** The reason for the first step of a replacement applies to all of it. */
function wholeReason({ purpose, chain }: Kind): string | undefined {
  return purpose === 'replace' ? chain[0]?.reason : undefined;
}

/** Leaves out gates that an earlier step of the chain already waits for. */
function newGates(kind: Kind, index: number): readonly string[] {
  const passed = new Set(kind.chain.slice(0, index).flatMap(({ after = [] }) => after));
  return (kind.chain[index]?.after ?? []).filter((gate) => !passed.has(gate));
}

function describePlacement(plan: Plan, group: string): string {
  const [first, ...others] = plan.placements[group] ?? [];
  if (first === undefined) return '';
  const otherwise = others.length === 0 ? '' : `, else ${others.map(({ provider }) => provider).join(', ')}`;
  return ` from ${first.provider} (${first.flavor}, image ${first.image})${otherwise}`;
}
