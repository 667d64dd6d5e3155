import type { ClusterState } from '../cluster/state.js';

/** Digests of all resources that a cluster uses, may go back to, or is asked to use. */
export function usedDigests({ nodes: _nodes, ...state }: ClusterState): readonly string[] {
  return digestsIn(state);
}

/** Digests of all resources that are bound anywhere in it. */
export function digestsIn(value: object): readonly string[] {
  const found = JSON.stringify(value).matchAll(/"digest":"(sha256:[0-9a-f]{64})"/g);
  return [...new Set([...found].map(([, digest = '']) => digest))];
}
