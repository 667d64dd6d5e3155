import type { Amounts } from './amounts.js';
import type { PoolNode } from './node.js';
import type { PoolState } from './state.js';

/**
 * What one machine of the label takes of the limits: what `uses` says, or else what its provider says of the
 * hardware, once that was read.
 */
export function usesOf(pool: PoolState, providerPool: string, label: string): Amounts {
  const { ignoreQuota, labels } = pool.spec?.providerPools[providerPool] ?? {};
  const { uses = {} } = labels?.[label] ?? {};
  if (ignoreQuota === true || pool.sizes === undefined || Object.keys(uses).some((key) => key !== 'nodes'))
    return uses;
  const { provider = '', flavor = '' } = pool.placements[providerPool]?.[label] ?? {};
  // Nodes are named first, also where the amounts are printed.
  return { ...uses, ...pool.sizes[provider]?.[flavor], ...uses };
}

/** Applies the hardware sizes that an account reports, also to nodes that were created earlier. */
export function noteSizes(
  pool: PoolState,
  account: string,
  sizes: Readonly<Record<string, Amounts>> | undefined,
): void {
  if (sizes === undefined) return;
  pool.sizes = { ...pool.sizes, [account]: sizes };
  for (const [id, node] of Object.entries(pool.nodes)) {
    const planned = pool.placements[node.providerPool]?.[node.label];
    // Its label may have other hardware by now.
    const { provider, flavor = '' } = node.machine.placement ?? planned ?? {};
    if (provider === account && isUnsized(pool, node))
      pool.nodes[id] = { ...node, uses: { ...node.uses, ...sizes[flavor], ...node.uses } };
  }
}

/** Whether it has its own machine, which counts as one node until its hardware is known. */
function isUnsized({ spec }: PoolState, { providerPool, backing, uses }: PoolNode): boolean {
  return (
    backing === undefined &&
    spec?.providerPools[providerPool]?.ignoreQuota !== true &&
    Object.keys(uses).every((key) => key === 'nodes')
  );
}
