import type { ClusterState } from './state.js';

/** Why a cluster with `lock: true` in its spec refuses to lose machines; undefined if it has no lock. */
export function refuseLocked({ name, spec }: Pick<ClusterState, 'name' | 'spec'>): string | undefined {
  return spec?.lock === true ? lockedText(name) : undefined;
}

export function lockedText(name?: string): string {
  return `${name === undefined ? 'the cluster' : `cluster ${name}`} is locked by its file, so neither it nor its machines can be deleted or replaced; to unlock it, remove 'lock: true' from the file and apply the file first`;
}
