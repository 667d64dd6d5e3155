import { noPeers, type PeersState } from '../node/peers.js';
import type { Consent } from './consent.js';
import { defaultLimits, type ServerFeatures, type Limits } from './limits.js';
import type { NodeLease } from '../node/lease.js';
import type { NodeGroup } from './group.js';
import type { ClusterEvents } from './event.js';
import type { Operation } from './operation.js';
import type { PlannedPlacement } from '../node/placement.js';
import type { PluginPins } from '../node/placement.js';
import type { ClusterSpec, ServiceSpec } from './spec.js';
import type { Json } from '../json.js';
import type { Webhook } from '../event.js';
import { stableJson } from '../node/payload.js';
import type { Revision } from './revision.js';
import type { Counts } from './scaled.js';
import type { TaskVariables } from './variables.js';
import type { Coordination, NodesState } from './work.js';

/** Everything a cluster workflow carries from run to run. Plain JSON. */
export interface ClusterState extends NodesState {
  readonly name: string;
  /** Made once; survives continue-as-new and reset, differs for a later cluster of the same name. */
  readonly uid: string;
  /** What the cluster should be: the spec that was accepted last. */
  readonly spec?: ClusterSpec;
  /** The spec of the operation under way as it was sent, until it was planned; then `spec` is it, closed. */
  readonly target?: unknown;
  /**
   * The operation under way was planned. It keeps its aim, which is `spec` from then on, and removes only
   * what that plan named.
   */
  readonly planned?: true;
  /** For the first plan of the operation under way, until it is made. */
  readonly consent?: Consent;
  /**
   * The plan of the operation under way did not fit into what this run got from the one before, or groups are
   * ahead of it after a reset. They may still carry out their part of it.
   */
  readonly unplanned?: true;
  /** The specs of the last successful operation and of the one before: targets of a rollback. */
  readonly achieved?: ClusterSpec;
  readonly before?: ClusterSpec;
  /** The last accepted changes of the spec, newest first. */
  readonly revisions: readonly Revision[];
  /** Counts that users set instead of those in the spec, and the same after the last successful operation. */
  readonly scaled: Counts;
  readonly achievedCounts: Counts;
  /** Services that a user stopped: they are not started until a user starts them. */
  readonly stopped: readonly string[];
  /** Definitions of services that some node still has but the spec does not: needed to remove them. */
  readonly retired: Readonly<Record<string, ServiceSpec>>;
  readonly counters: {
    readonly operation: number;
    readonly nodenum: number;
    readonly group: number;
    readonly revision: number;
  };
  /** Child workflows that carry the nodes beyond `limits.inlineNodes`, by number. */
  readonly groups: Readonly<Record<string, NodeGroup>>;
  /** Where machines of the cluster may be, and what their keys may begin with beside its own uid. */
  readonly traces?: Traces;
  /**
   * The operation under way was begun and not planned yet: runs and failures of the one before are to be
   * forgotten.
   */
  readonly fresh?: true;
  /** A user continued the operation, and the groups were not instructed yet. */
  readonly resumed?: Resumed;
  /** Uid of the last request by which a user continued the operation under way. */
  readonly retry?: string;
  readonly peers: PeersState;
  /** The operation under way or held. */
  readonly operation?: Operation;
  /** Present in what one run carries over to the next, when the operation under way is to end early. */
  readonly halt?: Halt;
  /** Gates and batch slots of the operation under way. */
  readonly coordination?: Coordination;
  /** Probes of the machines of an idle cluster: numbers of requested and completed ones. */
  readonly checks: { readonly asked: number; readonly done: number };
  /** The node that another workflow works on. */
  readonly lease?: NodeLease;
  /** Asked for and not begun, in order. */
  readonly queue: readonly QueuedOperation[];
  /** The last operations that ended, newest first. */
  readonly history: readonly Operation[];
  /** Optional server features that the cluster may use, as reported by the worker that planned. */
  readonly features: ServerFeatures;
  readonly limits: Limits;
  /** The plugins that the last plan of a spec was made with. */
  readonly plugins?: PluginPins;
  /** Values of variables that are outputs of other clusters, as the last plan of a spec read them. */
  readonly imports?: TaskVariables;
  /** An output that is such a value has changed since. */
  readonly importsChanged?: true;
  /** The values of outputs that other clusters know this one to have, as JSON, by their names. */
  readonly reported?: Readonly<Record<string, string>>;
  /** The clusters that use outputs of this one, with the values that each has, by their names. */
  readonly readers?: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  /** The workflow that started this one as its child: it receives the events. */
  readonly parent?: string;
  /** The webhooks of the worker that planned last; absent if there are none. */
  readonly webhooks?: readonly Webhook[];
  readonly events?: ClusterEvents;
}

/** A cluster that has received no request. */
export function newCluster(name: string, uid: string): ClusterState {
  return {
    name,
    uid,
    stopped: [],
    retired: {},
    nodes: {},
    peers: noPeers,
    queue: [],
    revisions: [],
    scaled: {},
    achievedCounts: {},
    history: [],
    checks: { asked: 0, done: 0 },
    incarnation: 0,
    counters: { operation: 0, nodenum: 0, group: 0, revision: 0 },
    groups: {},
    features: { searchAttributes: false },
    limits: defaultLimits,
  };
}

export interface Resumed {
  /** When a retry was sent, in ms since the epoch by the server's clock. */
  readonly retriedAt?: number;
  /** Ids of the nodes that get other machines. */
  readonly toReplace?: readonly string[];
}

/** Kept for the time after the loss of a group, which alone knew where its machines are. */
export interface Traces {
  readonly accounts: readonly Account[];
  readonly uids: readonly string[];
}

export type Account = Pick<PlannedPlacement, 'site' | 'provider' | 'type' | 'fields'>;

/** Nothing new is started for the operation under way, and what runs is cancelled. */
export interface Halt {
  readonly to: 'delete' | 'cancel';
  readonly by: string;
  /** Why the operation was held when it was cancelled. */
  readonly held?: string;
}

/** Every service that some node has, or that the spec names. */
export function servicesOf(
  state: Pick<ClusterState, 'spec' | 'retired'>,
): Readonly<Record<string, ServiceSpec>> {
  return { ...state.retired, ...state.spec?.services };
}

/**
 * What the operation under way brings about, however often it is planned: the spec as it was sent, which is
 * the accepted one as soon as it was planned. Only a delete has none.
 */
export function aimOf({
  operation,
  target,
  spec,
}: Pick<ClusterState, 'operation' | 'target' | 'spec'>): unknown {
  return operation?.kind === 'delete' ? undefined : (target ?? spec);
}

type Restorable = Pick<
  ClusterState,
  'operation' | 'spec' | 'achieved' | 'before' | 'scaled' | 'achievedCounts'
>;

/**
 * The spec that a rollback restores: for a held or cancelled operation the spec before it, otherwise the
 * previously achieved one.
 */
export function specBefore(state: Restorable): ClusterSpec | undefined {
  const found = isAchieved(state) ? state.before : state.achieved;
  return found === undefined ? undefined : withLockOf(state, found);
}

/** Only a file takes a lock away, so a rollback keeps the present one. */
export function withLockOf({ spec }: Pick<ClusterState, 'spec'>, found: ClusterSpec): ClusterSpec {
  if (found.lock === spec?.lock) return found;
  const { lock: _lock, ...unlocked } = found;
  return spec?.lock === undefined ? unlocked : { ...unlocked, lock: spec.lock };
}

/**
 * The counts by `scale` that a rollback restores: revisions are of the file, so it keeps those that were
 * reached.
 */
export function countsBefore(state: Restorable): Counts {
  return isAchieved(state) ? state.scaled : state.achievedCounts;
}

function isAchieved({ operation, spec, achieved, scaled, achievedCounts }: Restorable): boolean {
  return (
    operation === undefined &&
    stableJson((spec ?? null) as Json) === stableJson((achieved ?? null) as Json) &&
    stableJson(scaled) === stableJson(achievedCounts)
  );
}

export interface QueuedOperation {
  readonly operation: Operation;
  /**
   * For apply and rollback. As the client sent it: closed by the client, or raw; PLAN checks and closes it.
   */
  readonly spec?: unknown;
  readonly consent?: Consent;
  /** It begins only after the operations before it have ended, a held one too. */
  readonly waits?: boolean;
}
