import {
  countOf,
  type Kind,
  type Plan,
  type Purpose,
  type Range,
  taskCount,
} from '../../../model/plan/plan.js';
import { formatCount } from '../../format.js';
import type { Style } from '../../output.js';

interface Sign {
  readonly sign: string;
  readonly verb: string;
  /** In a count: "2 to create". */
  readonly counted: string;
  readonly style: Style;
}

export const signs: Readonly<Record<Purpose, Sign>> = {
  create: { sign: '+', verb: 'create', counted: 'to create', style: 'green' },
  update: { sign: '~', verb: 'change', counted: 'to change', style: 'yellow' },
  replace: { sign: '-/+', verb: 'replace', counted: 'to replace', style: 'magenta' },
  remove: { sign: '-', verb: 'remove', counted: 'to remove', style: 'red' },
  exec: { sign: '>', verb: 'run a command on', counted: 'to run a command on', style: 'cyan' },
};

/** Every kind with steps, including those left to a later plan. */
export function busyKinds({ kinds, later = [] }: Plan): readonly Kind[] {
  return [...kinds, ...later].filter(({ chain }) => chain.length > 0);
}

/** `Plan: 2 nodes to create, 1 to remove; 17 tasks. The disk of app-3 is lost.` */
export function describeCounts(plan: Plan): string {
  const words = countsOf(plan).map(
    ({ purpose, nodes }, index) =>
      `${index > 0 ? nodes : formatCount(nodes, 'node')} ${signs[purpose].counted}`,
  );
  const rolling = plan.width === undefined ? '' : `, ${plan.width} at a time`;
  return `Plan: ${words.join(', ')}; ${formatCount(allTasks(plan), 'task')}${rolling}.${describeLostDisks(plan)}`;
}

/** What a limited apply leaves; undefined if it is all of the spec. */
export function describeLeft({ left = 0 }: Pick<Plan, 'left'>): string | undefined {
  if (left === 0) return undefined;
  const [tasks, are] = [formatCount(left, 'task'), left === 1 ? 'is' : 'are'];
  return `${tasks} outside of --nodes/--services ${are} left; apply the file again without them for the rest.`;
}

function describeLostDisks(plan: Plan): string {
  const kinds = kindsLosingDisks(plan);
  const count = kinds.reduce((sum, { nodes }) => sum + countOf(nodes), 0);
  if (count === 0) return '';
  const disks = count === 1 ? 'disk' : `${count} disks`;
  return ` The ${disks} of ${kinds.map(describeNodes).join(', ')} ${count === 1 ? 'is' : 'are'} lost.`;
}

/** Kinds whose machines are deleted, with or without a successor. */
export function kindsLosingDisks(plan: Plan): readonly Kind[] {
  return busyKinds(plan).filter(({ chain }) => chain.some(({ action }) => action === 'DELETE'));
}

/** The number of nodes per purpose, without zeros. */
export function countsOf(plan: Plan): readonly { readonly purpose: Purpose; readonly nodes: number }[] {
  return (Object.keys(signs) as readonly Purpose[]).flatMap((purpose) => {
    const nodes = busyKinds(plan)
      .filter((kind) => kind.purpose === purpose)
      .reduce((sum, kind) => sum + countOf(kind.nodes), 0);
    return nodes === 0 ? [] : [{ purpose, nodes }];
  });
}

/** Tasks of all kinds, including later ones. */
export function allTasks(plan: Plan): number {
  return taskCount({ ...plan, kinds: busyKinds(plan) });
}

/** `app-1`, `app-1 to app-4`, `app-1, app-3`. */
export function describeNodes({
  group,
  nodes,
}: {
  readonly group: string;
  readonly nodes: readonly Range[];
}): string {
  return nodes
    .map(([first, last]) => {
      if (first === last) return `${group}-${first}`;
      return `${group}-${first}${last === first + 1 ? ', ' : ' to '}${group}-${last}`;
    })
    .join(', ');
}
