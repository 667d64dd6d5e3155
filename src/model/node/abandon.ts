import type { NodeState } from './state.js';

/** Whether a node's machine cannot be deleted: its DELETE failed, or is tried again and again. */
export function isUndeletable({ failure, current }: Pick<NodeState, 'failure' | 'current'>): boolean {
  return failure?.action === 'DELETE' || (current?.action === 'DELETE' && current.state === 'running');
}

/** The machine of an abandoned node for the record: `<nodeId> <provider> <providerid> (by <whom>)`. */
export function abandonedText({ nodeId, placement, payload }: NodeState, by: string): string {
  const { providerid } = payload;
  const machine = typeof providerid === 'string' ? providerid : 'machine unknown';
  return `${nodeId} ${placement?.provider ?? '-'} ${machine} (by ${by})`;
}
