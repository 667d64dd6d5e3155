import type { Losses } from '../../../client/losses.js';
import { type Plan, type Purpose, taskCount } from '../../../model/plan/plan.js';
import { countOf, rangesByGroup, type Range } from '../../../model/plan/ranges.js';
import { formatCount } from '../../format.js';
import type { Style } from '../../output.js';
import { busyKinds, changesOf } from './changes.js';

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

/** `Plan: 2 nodes to create, 1 to remove; 17 tasks. The machine, disk and address of app-3 are lost.` */
export function describeCounts({ plan, losses }: { readonly plan: Plan; readonly losses: Losses }): string {
  const words = countsOf(plan).map(
    ({ purpose, nodes }, index) =>
      `${index > 0 ? nodes : formatCount(nodes, 'node')} ${signs[purpose].counted}`,
  );
  const rolls = busyKinds(plan).some(({ chain }) => chain.some(({ batchSlot }) => batchSlot !== undefined));
  const rolling = plan.width === undefined || !rolls ? '' : `, ${plan.width} at a time`;
  const about = isExact(plan) ? '' : 'about ';
  const counts = `Plan: ${words.join(', ')}; ${about}${formatCount(allTasks(plan), 'task')}${rolling}.`;
  return `${counts} ${describeLosses(losses)}`.trimEnd();
}

/** What joins or leaves changes what is configured between the batches. */
function isExact(plan: Plan): boolean {
  return (
    plan.later === undefined ||
    busyKinds(plan).every(
      ({ purpose, chain }) =>
        purpose === 'update' && chain.every(({ action }) => action !== 'INSTALL' && action !== 'REMOVE'),
    )
  );
}

/** What a limited apply leaves; undefined if it is all of the spec. */
export function describeLeft({ left = 0 }: Pick<Plan, 'left'>): string | undefined {
  if (left === 0) return undefined;
  const [tasks, are] = [formatCount(left, 'task'), left === 1 ? 'is' : 'are'];
  return `${tasks} outside of --nodes/--services ${are} left; apply the file again without them for the rest.`;
}

/** What a user set by `scale` and the file does not have. */
export function describeScaled(cluster: string, scaled: Plan['scaled'] = {}): readonly string[] {
  const groups = Object.entries(scaled);
  if (groups.length === 0) return [];
  const undo = groups.map(([group]) => `${group}=file`).join(' ');
  return [
    ...groups.map(([group, { count, file }]) => `${group}: ${count} by scale, file says ${file}`),
    `to follow the file: heddle scale ${cluster} ${undo}`,
  ];
}

/**
 * `The machine, disk and address of app-3 are lost. The machine of db-1 is released.`; empty without losses.
 */
export function describeLosses({ lost, released }: Losses): string {
  const sentence = (ids: readonly string[], one: string, several: string, end: string): readonly string[] =>
    ids.length === 0 ? [] : [`The ${ids.length === 1 ? one : several} of ${describeIds(ids)} ${end}.`];
  return [
    ...sentence(lost, 'machine, disk and address', 'machines, disks and addresses', 'are lost'),
    ...sentence(released, 'machine', 'machines', `${released.length === 1 ? 'is' : 'are'} released`),
  ].join(' ');
}
/** The number of nodes per purpose, without zeros. */
export function countsOf(plan: Plan): readonly { readonly purpose: Purpose; readonly nodes: number }[] {
  const changes = changesOf(plan);
  return (Object.keys(signs) as readonly Purpose[]).flatMap((purpose) => {
    const nodes = changes
      .filter((change) => change.purpose === purpose)
      .reduce((sum, change) => sum + countOf(change.nodes), 0);
    return nodes === 0 ? [] : [{ purpose, nodes }];
  });
}

/** Tasks of all kinds, including later ones and those of routers around them. */
export function allTasks(plan: Plan): number {
  return taskCount({ ...plan, kinds: busyKinds(plan) }) + (plan.repeated ?? 0);
}

/** Ids of nodes, those of a group together: `app-1 to app-4, db-1`. */
function describeIds(ids: readonly string[]): string {
  const groups = Object.entries(rangesByGroup(ids));
  return groups.map(([group, nodes]) => describeNodes({ group, nodes })).join(', ');
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
