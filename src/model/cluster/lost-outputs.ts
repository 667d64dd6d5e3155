import type { CurrentCluster } from '../plan/facts/current.js';
import type { Intent } from '../plan/intent/intent.js';
import type { ClusterSpec } from './spec.js';

/** Warnings of outputs that other clusters use and that an operation takes away. */
export function lostOutputs(
  { readers = {} }: Pick<CurrentCluster, 'readers'>,
  { kind }: Pick<Intent, 'kind'>,
  spec: Pick<ClusterSpec, 'outputs'> | undefined,
): readonly string[] {
  if (kind !== 'delete' && spec === undefined) return [];
  const kept = kind === 'delete' ? {} : (spec?.outputs ?? {});
  return Object.entries(readers).flatMap(([cluster, outputs]) => {
    const lost = outputs.filter((name) => !Object.hasOwn(kept, name));
    if (lost.length === 0) return [];
    const what = `${lost.length === 1 ? 'output' : 'outputs'} ${lost.join(', ')}`;
    return [
      `cluster ${cluster} uses ${what}, which will be removed: it keeps the last ${lost.length === 1 ? 'value' : 'values'}`,
    ];
  });
}
