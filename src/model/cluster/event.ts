import type { Drift } from '../node/drift.js';
import type { HeddleEvent } from '../event.js';
import { nodeId as nodeIdOf } from '../names.js';
import { indexesOf } from '../plan/plan.js';
import { describeIntent, namedMissing, type Operation } from './operation.js';
import type { ClusterState } from './state.js';

export type ClusterEventType =
  | `operation.${'started' | 'done' | 'held' | 'failed' | 'cancelled' | 'rejected' | 'superseded'}`
  | 'node.lost';

/** Something that happened to a cluster. Holds no secrets: programs outside of Heddle read it. */
export type ClusterEvent = HeddleEvent<ClusterEventType, ClusterEventData>;

export interface ClusterEventData {
  readonly cluster: string;
  readonly clusterUid: string;
  /** Of `operation.*`. */
  readonly operation?: OperationOutcome;
  /** Of `node.lost`: how many, and the first of them. */
  readonly lost?: { readonly count: number; readonly nodes: readonly LostNode[] };
}

/** An operation without its intent, which may hold a command of the user. */
export type OperationOutcome = Omit<Operation, 'intent'>;

interface LostNode {
  readonly nodeId: string;
  readonly seen: Drift;
  readonly why?: string;
}

/** Events of a cluster that wait for their delivery. */
export interface ClusterEvents {
  /** How many there were; numbers the next. */
  readonly count: number;
  /** Oldest first. */
  readonly waiting: readonly ClusterEvent[];
  /** The operation whose start was announced last. */
  readonly started?: string;
  /** The lost nodes that were announced. */
  readonly lost: readonly string[];
}

export const noEvents: ClusterEvents = { count: 0, waiting: [], lost: [] };

/** Events that wait at most: beyond, the oldest are dropped. */
const waitingAtMost = 100;

/** Without the command of an exec, and what it printed. */
export function outcomeOf({ intent, ...operation }: Operation): OperationOutcome {
  if (intent.kind !== 'exec') return operation;
  const { reason: _reason, failures: _failures, ...outcome } = operation;
  return { ...outcome, what: describeIntent({ ...intent, command: '…' }) };
}

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
    id: `${uid}_${count}`,
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
