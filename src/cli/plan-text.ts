import { countOf, isEmptyPlan, taskCount, type Kind, type Plan, type Purpose, type Step } from '../model/plan.js';
import { cleanLine } from './clean-text.js';
import { describeGate } from './node-words.js';
import type { Output, Style } from './output.js';

interface Sign {
  readonly sign: string;
  readonly verb: string;
  readonly style: Style;
}

const signs: Readonly<Record<Purpose, Sign>> = {
  create: { sign: '+', verb: 'create', style: 'green' },
  update: { sign: '~', verb: 'change', style: 'yellow' },
  replace: { sign: '-/+', verb: 'replace', style: 'magenta' },
  remove: { sign: '-', verb: 'remove', style: 'red' },
};

/** A plan for people: nodes that get the same are shown once, with what is run on each of them, in order. */
export function printPlan(output: Output, name: string, plan: Plan): void {
  if (isEmptyPlan(plan)) {
    output.line('No changes.');
    return;
  }
  output.line(`cluster ${output.style('bold', cleanLine(name))}`);
  for (const kind of plan.kinds.filter(({ chain }) => chain.length > 0)) printKind(output, plan, kind);
  output.line();
  output.line(describeCounts(plan));
}

/** `Plan: 2 nodes to create, 1 to change; 17 tasks.` */
export function describeCounts(plan: Plan): string {
  const counts = (Object.keys(signs) as readonly Purpose[]).flatMap((purpose) => {
    const kinds = plan.kinds.filter((kind) => kind.purpose === purpose && kind.chain.length > 0);
    const nodes = kinds.reduce((sum, kind) => sum + countOf(kind.nodes), 0);
    return nodes === 0 ? [] : [{ nodes, text: `to ${signs[purpose].verb}` }];
  });
  const words = counts.map(({ nodes, text }, index) => `${nodes}${index > 0 ? '' : nodes === 1 ? ' node' : ' nodes'} ${text}`);
  const tasks = taskCount(plan);
  return `Plan: ${words.join(', ')}; ${tasks} ${tasks === 1 ? 'task' : 'tasks'}.`;
}

/** `app-1`, `app-1 to app-4`, `app-1, app-3`. */
export function describeNodes(kind: Kind): string {
  return kind.nodes.map(([first, last]) => (first === last ? `${kind.group}-${first}` : `${kind.group}-${first} to ${kind.group}-${last}`)).join(', ');
}

export function signOf(kind: Kind): string {
  return signs[kind.purpose].sign;
}

export function describeStep({ action, service }: Step): string {
  return service === undefined ? action : `${action} ${service}`;
}

function printKind(output: Output, plan: Plan, kind: Kind): void {
  const { sign, verb, style } = signs[kind.purpose];
  const count = countOf(kind.nodes);
  const nodes = cleanLine(describeNodes(kind));
  const from = kind.purpose === 'create' || kind.purpose === 'replace' ? describePlacement(plan, kind.group) : '';
  output.line();
  output.line(output.style(style, `${sign} ${verb} ${nodes}${count > 1 ? ` (${count} nodes)` : ''}${from}`));
  const width = Math.max(...kind.chain.map((step) => describeStep(step).length));
  kind.chain.forEach((step, index) => {
    const why = step.reason === undefined ? [] : [cleanLine(step.reason)];
    const waits = newGates(kind, index).map(describeGate);
    const after = waits.length === 0 ? [] : [`after ${waits.join(' and ')}`];
    const words = [...why, ...after].join('; ');
    output.line(`    ${`${index + 1}.`.padStart(3)} ${describeStep(step).padEnd(width)}${words === '' ? '' : `  ${words}`}`.trimEnd());
  });
}

/** A gate that an earlier step of the chain waited for is open by then. */
function newGates(kind: Kind, index: number): readonly string[] {
  const passed = new Set(kind.chain.slice(0, index).flatMap(({ after = [] }) => after));
  return (kind.chain[index]?.after ?? []).filter((gate) => !passed.has(gate));
}

function describePlacement(plan: Plan, group: string): string {
  const [first, ...others] = plan.placements[group] ?? [];
  if (first === undefined) return '';
  const otherwise = others.length === 0 ? '' : `, else ${others.map(({ provider }) => provider).join(', ')}`;
  return ` ${cleanLine(`from ${first.provider} (${first.flavor}, image ${first.image})${otherwise}`)}`;
}
