import type { NodeState } from './node.js';
import type { Operation } from './operation.js';
import type { ClusterSpec, ServiceSpec } from './spec.js';

/** Everything a cluster workflow carries from run to run. Plain JSON. */
export interface ClusterState {
  readonly stateVersion: 1;
  readonly name: string;
  /** Made once; survives continue-as-new and reset, differs for a later cluster of the same name. */
  readonly uid: string;
  /** What the cluster should be: the spec that was accepted last. */
  readonly spec?: ClusterSpec;
  /** The spec of the operation under way as it was sent, until it was planned; then `spec` is it, closed. */
  readonly target?: unknown;
  /** Definitions of services that stand on some node but that the spec names no more: what takes them down. */
  readonly retired: Readonly<Record<string, ServiceSpec>>;
  readonly nodes: Readonly<Record<string, NodeState>>;
  readonly counters: { readonly operation: number; readonly incarnation: number; readonly nodenum: number };
  readonly peers: PeersState;
  /** The operation under way or held. */
  readonly operation?: Operation;
  /** Asked for and not begun; at most one, for delete alone may queue. */
  readonly queue: readonly QueuedOperation[];
  /** The last operations that ended, newest first. */
  readonly history: readonly Operation[];
  /** Which optional features of the server the cluster may use; told by the worker that planned. */
  readonly features: ServerFeatures;
}

/** Every service that stands on some node, or is to. */
export function servicesOf(state: Pick<ClusterState, 'spec' | 'retired'>): Readonly<Record<string, ServiceSpec>> {
  return { ...state.retired, ...state.spec?.services };
}

/** An unregistered search attribute fails the workflow task, so what the server has decides what is used. */
export interface ServerFeatures {
  readonly searchAttributes: boolean;
}

export interface QueuedOperation {
  readonly operation: Operation;
  /** As the client sent it: closed by the client, or raw; PLAN checks and closes it. */
  readonly spec?: unknown;
}

/** Who the peers are changes with a version; `gone` remembers in which version a node left. */
export interface PeersState {
  readonly version: number;
  readonly gone: Readonly<Record<string, number>>;
  /** Version of the last join, leave or new address among the nodes of a service; `*` for all nodes. */
  readonly changedAt: Readonly<Record<string, number>>;
}

/** What people see of where a cluster stands; no decision reads it. */
export type Phase = 'idle' | 'applying' | 'held' | 'deleting' | 'deleted';
