import type { Plan } from '../../../model/plan/plan.js';
import type { GraphEdge } from '../../../schema/output/plan.js';
import { taskWords } from '../node-text.js';
import { describeNodes, signs } from './plan-text.js';

export type GraphForm = 'mermaid' | 'dot';

interface GraphBox {
  readonly id: string;
  readonly title: string;
  readonly steps: readonly { readonly id: string; readonly title: string }[];
}

/** The plan as a graph: a box for nodes with the same tasks, an arrow for each dependency. */
export function drawPlan(plan: Plan, form: GraphForm): string {
  const boxes = plan.kinds
    .map((kind, k): GraphBox => ({
      id: `k${k}`,
      title: `${signs[kind.purpose].sign} ${describeNodes(kind)}`,
      steps: kind.chain.map((step, s) => ({ id: stepId(k, s), title: taskWords(step) })),
    }))
    .filter(({ steps }) => steps.length > 0);
  return form === 'mermaid' ? drawMermaid(boxes, edgesOf(plan)) : drawDot(boxes, edgesOf(plan));
}

/** The id of a step, from the indexes of its kind and of the step. */
export function stepId(kind: number, step: number): string {
  return `k${kind}s${step}`;
}

/** The dependencies: the order on a node, and the gates between nodes. */
export function edgesOf(plan: Plan): readonly GraphEdge[] {
  const counting = new Map<string, string[]>();
  plan.kinds.forEach(({ chain }, k) =>
    chain.forEach(({ counts }, s) => {
      if (counts !== undefined) counting.set(counts, [...(counting.get(counts) ?? []), stepId(k, s)]);
    }),
  );
  return plan.kinds.flatMap(({ chain }, k) =>
    chain.flatMap(({ after = [] }, s): readonly GraphEdge[] => {
      const to = stepId(k, s);
      const before = s === 0 ? [] : [{ from: stepId(k, s - 1), to }];
      return [
        ...before,
        ...after.flatMap((gate) => (counting.get(gate) ?? []).map((from) => ({ from, to, gate }))),
      ];
    }),
  );
}

function drawMermaid(boxes: readonly GraphBox[], edges: readonly GraphEdge[]): string {
  return [
    'flowchart LR',
    ...boxes.flatMap(({ id, title, steps }) => [
      `  subgraph ${id}["${title}"]`,
      ...steps.map((step) => `    ${step.id}["${step.title}"]`),
      '  end',
    ]),
    ...edges.map(({ from, to, gate }) => `  ${from} ${gate === undefined ? '-->' : '-.->'} ${to}`),
  ].join('\n');
}

function drawDot(boxes: readonly GraphBox[], edges: readonly GraphEdge[]): string {
  return [
    'digraph plan {',
    '  rankdir=LR;',
    '  node [shape=box];',
    ...boxes.flatMap(({ id, title, steps }) => [
      `  subgraph cluster_${id} {`,
      `    label="${title}";`,
      ...steps.map((step) => `    ${step.id} [label="${step.title}"];`),
      '  }',
    ]),
    ...edges.map(({ from, to, gate }) => `  ${from} -> ${to}${gate === undefined ? '' : ' [style=dashed]'};`),
    '}',
  ].join('\n');
}
