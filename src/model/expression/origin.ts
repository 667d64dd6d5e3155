import type { Expression } from './parse.js';

/** Keys of a node that Heddle itself sets: names from the cluster file, and numbers. */
const ownKeys: ReadonlySet<string> = new Set(['id', 'group', 'nodenum']);

/**
 * Where the value of an expression comes from, in words, if no author of the cluster file wrote
 * it: from a provider or a node, its host name included, or from another cluster. Such a value
 * is tainted: it may hold anything.
 */
export function taintOf(
  { words, mustBeWord }: Expression,
  isImported: (variable: string) => boolean,
): string | undefined {
  const [root, ...keys] = words;
  if (mustBeWord === true) return undefined;
  if (root === 'var') return isImported(keys[0] ?? '') ? 'a value of another cluster' : undefined;
  const [key = '', ...below] = root === 'node' ? keys : keys.slice(1);
  return ownKeys.has(key) && below.length === 0 ? undefined : 'a value that a node or its provider reports';
}
