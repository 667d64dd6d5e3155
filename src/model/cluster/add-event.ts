import type { Drift } from '../node/drift.js';
import { nodeId as nodeIdOf } from '../names.js';
import { indexesOf } from '../plan/ranges.js';
import {
  noEvents,
  type ClusterEvent,
  type ClusterEventData,
  type ClusterEventType,
  type LostNode,
} from './event.js';
import { namedMissing } from './operation.js';
import type { ClusterState } from './state.js';

/** Events that wait at most: beyond, the oldest are dropped. */
const waitingAtMost = 100;

/** Adds an event, if anyone receives events of this cluster. */
export function withEvent(
  state: ClusterState,
  type: ClusterEventType,
  data: Pick<ClusterEventData, 'operation' | 'lost'>,
  at: string,
): ClusterState {
  if (!hasReceivers(state)) return state;
  const { uid, name, events = noEvents } = state;
  const count = events.count + 1;
  const event: ClusterEvent = {
    // With the time, because a reset counts back, and events with an id of before are not delivered.
    id: `${uid}_${count}_${Date.parse(at)}`,
    type,
    timestamp: at,
    data: { cluster: name, clusterUid: uid, ...data },
  };
  return {
    ...state,
    events: { ...events, count, waiting: [...events.waiting, event].slice(-waitingAtMost) },
  };
}

function hasReceivers({ parent, webhooks }: Pick<ClusterState, 'parent' | 'webhooks'>): boolean {
  return parent !== undefined || webhooks !== undefined;
}

/** Announces nodes that were lost since the last call; forgets those that are back. */
export function withLostNodes(state: ClusterState, at: string): ClusterState {
  if (!hasReceivers(state)) return state;
  const { events = noEvents } = state;
  const found = lostNodes(state);
  const added = found.filter(({ nodeId }) => !events.lost.includes(nodeId));
  const stays = events.lost.every((known) => found.some(({ nodeId }) => nodeId === known));
  if (added.length === 0 && stays) return state;
  const noted = { ...state, events: { ...events, lost: found.map(({ nodeId }) => nodeId) } };
  const lost = { count: added.length, nodes: added.slice(0, namedMissing) };
  return added.length === 0 ? noted : withEvent(noted, 'node.lost', { lost }, at);
}

const lostKinds: readonly (Drift | undefined)[] = ['gone', 'stopped', 'unreachable'];

function lostNodes({ nodes, groups }: ClusterState): readonly LostNode[] {
  const inline = Object.values(nodes).flatMap(({ nodeId, facts: { seen }, drift }) =>
    seen !== undefined && lostKinds.includes(seen) ? [{ nodeId, seen, why: drift?.why }] : [],
  );
  const rows = Object.values(groups).flatMap((group) => group.rows);
  const inGroups = rows.flatMap(({ group, nodes: ranges, facts: { seen } }) =>
    seen !== undefined && lostKinds.includes(seen)
      ? indexesOf(ranges).map((index) => ({ nodeId: nodeIdOf(group, index), seen }))
      : [],
  );
  return [...inline, ...inGroups];
}
