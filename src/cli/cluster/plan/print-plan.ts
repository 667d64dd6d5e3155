import type { PlanPreview } from '../../../client/preview.js';
import { isEmptyPlan, type Kind, type Plan } from '../../../model/plan/plan.js';
import { countOf } from '../../../model/plan/ranges.js';
import { cleanLine } from '../../clean-text.js';
import type { Output } from '../../output.js';
import { wrapTo } from '../../table.js';
import { describeGates, taskWords } from '../node-text.js';
import { changesOf, type NodeChange, type PartChange } from './changes.js';
import { describeDrift, driftOf } from './drift.js';
import { describeCounts, describeLeft, describeNodes, describeScaled, signs } from './plan-text.js';
import { optional } from '../../format.js';

export interface ShownPlan {
  /** Of the cluster. */
  readonly name: string;
  /** The operation, in words. */
  readonly what: string;
  readonly preview: PlanPreview;
  /** Every step in order, with what it waits for. */
  readonly verbose?: boolean;
}

/** A plan for people: a line for each service of equal nodes, with the reason. */
export function printPlan(output: Output, { name, what, preview, verbose = false }: ShownPlan): void {
  const { plan, current, warnings } = preview;
  for (const warning of warnings) output.line(`warning: ${warning}`, 'yellow');
  const drift = driftOf(current, plan);
  for (const line of drift.map(describeDrift)) output.line(`drift: ${line}`, 'yellow');
  const { stopped = [] } = current;
  if (stopped.length > 0) output.line(`stopped by a user, and not started: ${stopped.join(', ')}`);
  for (const line of describeScaled(name, plan.scaled)) output.line(line, 'yellow');
  const left = describeLeft(plan);
  if (isEmptyPlan(plan)) {
    if (preview.changes.length > 0) {
      printSpecChanges(output, preview.changes);
      output.line();
    }
    output.line(preview.changes.length > 0 ? 'No tasks: the change is only recorded.' : 'No changes.');
    if (left !== undefined) output.line(left);
    return;
  }
  if (drift.length + stopped.length > 0 || plan.scaled !== undefined) output.line();
  output.raw(`cluster ${output.style('bold', cleanLine(name))}: ${cleanLine(what)}`);
  printSpecChanges(output, preview.changes);
  if (verbose) printSteps(output, plan);
  else for (const change of changesOf(plan)) printChange(output, plan, change);
  const { notes = [] } = plan;
  if (notes.length > 0) output.line();
  for (const note of notes) output.line(`note: ${cleanLine(note)}`, 'yellow');
  output.line();
  output.line(describeCounts(preview), 'bold');
  if (left !== undefined) output.line(left);
}

const diffStyles = { '+': 'green', '-': 'red', ' ': undefined } as const;

export function printSpecChanges(output: Output, changes: PlanPreview['changes']): void {
  for (const { path, lines } of changes) {
    output.line();
    output.line(`  ${cleanLine(path)}`);
    for (const { sign, text } of lines) output.line(`    ${sign} ${cleanLine(text)}`, diffStyles[sign]);
  }
}

function printChange(output: Output, plan: Plan, change: NodeChange): void {
  printHead(output, plan, change);
  const width = Math.max(0, ...change.parts.map((part) => partName(part).length));
  const indent = ' '.repeat(4 + width + 2);
  for (const part of change.parts) {
    const actions = part.actions.join(', ').toLowerCase();
    const reason = part.reasons.length === 0 ? '' : `: ${part.reasons.join('; ')}`;
    const [first = '', ...rest] = wrapTo(
      cleanLine(`${actions}${reason}`),
      (output.columns ?? Infinity) - indent.length - 1,
    );
    output.line(`    ${partName(part).padEnd(width)}  ${first}`);
    for (const line of rest) output.line(`${indent}${line}`);
  }
}

function partName({ service = 'machine' }: PartChange): string {
  return service;
}

function printHead(
  output: Output,
  plan: Plan,
  { group, nodes, purpose, creates, reason }: Omit<NodeChange, 'parts'>,
): void {
  const { sign, verb, style } = signs[purpose];
  const count = countOf(nodes);
  const from = creates ? describePlacement(plan, group) : '';
  const several = count > 1 ? ` (${count} nodes)` : '';
  output.line();
  output.line(
    `${sign} ${verb} ${describeNodes({ group, nodes })}${several}${from}${optional(': ', reason)}`,
    style,
  );
}

function printSteps(output: Output, plan: Plan): void {
  for (const kind of plan.kinds.filter(({ chain }) => chain.length > 0)) printKind(output, plan, kind);
  const { later = [] } = plan;
  if (later.length === 0) return;
  output.line();
  output.line('The rest is planned again after these tasks. As of now, it consists of:');
  for (const kind of later) printKind(output, plan, kind);
}

function printKind(output: Output, plan: Plan, kind: Kind): void {
  const why = wholeReason(kind);
  const creates = kind.chain.some(({ action }) => action === 'CREATE');
  printHead(output, plan, { ...kind, creates, ...(why === undefined ? {} : { reason: why }) });
  const width = Math.max(...kind.chain.map((step) => taskWords(step).length));
  const indent = 4 + 3 + 1 + width + 2;
  kind.chain.forEach((step, index) => {
    const reason =
      step.reason === undefined || (index === 0 && why !== undefined) ? [] : [cleanLine(step.reason)];
    const waits = describeGates(newGates(kind, index));
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
