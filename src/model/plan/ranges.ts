import { groupOfNode } from '../names.js';

/** Indexes of nodes within their group; both ends are included. */
export type Range = readonly [first: number, last: number];

export function countOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

export function indexesOf(ranges: readonly Range[]): readonly number[] {
  const indexes: number[] = [];
  for (const [first, last] of ranges) for (let index = first; index <= last; index += 1) indexes.push(index);
  return indexes;
}

/** Makes ranges of indexes in rising order. */
export function rangesOf(indexes: readonly number[]): readonly Range[] {
  const ranges: [number, number][] = [];
  for (const index of indexes) {
    const open = ranges.at(-1);
    if (open !== undefined && open[1] === index - 1) open[1] = index;
    else ranges.push([index, index]);
  }
  return ranges;
}

/** Nodes by their group, from their ids. */
export function rangesByGroup(ids: readonly string[]): Readonly<Record<string, readonly Range[]>> {
  const groups = new Map<string, number[]>();
  for (const id of ids) {
    const group = groupOfNode(id);
    const indexes = groups.get(group) ?? [];
    groups.set(group, indexes);
    indexes.push(Number(id.slice(group.length + 1)));
  }
  return Object.fromEntries(
    [...groups].map(([group, indexes]) => [group, rangesOf(indexes.toSorted((a, b) => a - b))]),
  );
}
