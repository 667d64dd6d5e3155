import type { Drift } from '../node/drift.js';
import type { HeddleEvent } from '../event.js';
import { describeIntent } from '../plan/intent/intent.js';
import type { Operation } from './operation.js';

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

export interface LostNode {
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
  /** The uid of the operation whose start was announced last. */
  readonly started?: string;
  /** The lost nodes that were announced. */
  readonly lost: readonly string[];
}

export const noEvents: ClusterEvents = { count: 0, waiting: [], lost: [] };

/** Without the command of an exec, and what it printed. */
export function outcomeOf({ intent, ...operation }: Operation): OperationOutcome {
  if (intent.kind !== 'exec') return operation;
  const { reason: _reason, failures: _failures, ...outcome } = operation;
  return { ...outcome, what: describeIntent({ ...intent, command: '…' }) };
}
