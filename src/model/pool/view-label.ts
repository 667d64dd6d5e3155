import type { PoolView } from '../../schema/output/pool.js';
import { formatImageRef } from '../machine/image.js';
import { missingFor, offerKey, type CapacityLedger } from './capacity-ledger.js';
import { lacksImage, placementFor } from './library.js';
import type { PoolNodeState } from './node.js';
import { inOrder } from './order.js';
import { pauseOf } from './pause.js';
import { usesOf } from './sizes.js';
import type { PoolState } from './state.js';

type LabelView = PoolView['labels'][string];
type ServedImage = NonNullable<LabelView['servedBy'][number]['image']>;

export function viewLabel(pool: PoolState, ledger: CapacityLedger, label: string, now: number): LabelView {
  const { minReady = 0, onReturn = 'delete' } = pool.spec?.labels[label] ?? {};
  const nodes: Partial<Record<PoolNodeState, number>> = {};
  for (const node of Object.values(pool.nodes))
    if (node.label === label && node.slots === undefined) nodes[node.state] = (nodes[node.state] ?? 0) + 1;
  const servedBy = Object.entries(pool.spec?.providerPools ?? {})
    .flatMap(([providerPool, { provider, priority, labels }]) => {
      const slots = labels[label]?.slots;
      return labels[label] === undefined
        ? []
        : [{ providerPool, provider, priority, slots, ...servedImage(pool, providerPool, label) }];
    })
    .toSorted((one, other) => one.priority - other.priority);
  return {
    minReady,
    onReturn,
    nodes,
    ...((nodes.ready ?? 0) < minReady ? { lacks: lacksOf(pool, ledger, label, now) } : {}),
    waiting: inOrder(pool).filter(({ labels }) => labels.includes(label)).length,
    servedBy,
  };
}

/** What keeps each provider pool from making the label's nodes ready; otherwise they are on their way. */
function lacksOf(pool: PoolState, ledger: CapacityLedger, label: string, now: number): string {
  const whys = Object.entries(pool.spec?.providerPools ?? {}).flatMap(([name, provider]) => {
    const offer = provider.labels[label];
    if (offer === undefined) return [];
    const key = offerKey(name, label);
    const missing = missingFor(pool, ledger, name, provider, usesOf(pool, name, label));
    const isResting = (pool.resting[key]?.until ?? 0) > now;
    const why =
      lacksImage(pool, name, label) ??
      pool.failures?.[key]?.why ??
      pauseOf(pool, { providerPool: name, label })?.why ??
      missing?.why;
    return why === undefined ? [] : [`${name}: ${why}${isResting ? ' (tried again later)' : ''}`];
  });
  return whys.length === 0 ? 'nodes are being created' : whys.join('; ');
}

function servedImage(pool: PoolState, providerPool: string, label: string): { readonly image?: ServedImage } {
  const name = pool.placements[providerPool]?.[label]?.libraryImage;
  if (name === undefined) return {};
  const built = placementFor(pool, providerPool, label)?.built;
  const lacks = lacksImage(pool, providerPool, label);
  return { image: { name, version: built === undefined ? undefined : formatImageRef(built), lacks } };
}
