import { jsonBytes, mostSent } from '../carried.js';
import type { Retried } from '../plan/intent/intent.js';
import type { TaskVariables } from './variables.js';
import type { FailureRecord } from '../node/failure.js';
import type { JsonObject } from '../json.js';
import type { TaskRequest } from '../node/task-request.js';
import type { AdoptedMachine, NodeFacts, NodeState } from '../node/state.js';
import type { Discard, OperationFailure } from './operation.js';
import type { LastTaken, Numbered } from './numbered.js';
import type { NodeReference, OutputNodes } from './output-nodes.js';
import type { Kind, Step } from '../plan/plan.js';
import { countOf, indexesOf, rangesOf, type Range } from '../plan/ranges.js';
import type { PeersState } from '../node/peers.js';
import type { Limits } from './limits.js';
import type { ServiceSpec } from './spec.js';
import type { NodeRow } from '../plan/facts/current.js';
import type { Removal } from '../plan/plan.js';
import {
  packNodes,
  packWork,
  unpackNodes,
  unpackWork,
  withoutHealth,
  type NodesState,
  type PackedNodes,
  type PackedWork,
} from './work.js';

/**
 * Nodes beyond those that the cluster workflow carries itself live in groups: child workflows, as long-lived
 * as the cluster.
 */
export interface NodeGroup {
  /** Of its last start; absent: it was not started yet. */
  readonly uid?: string;
  /** Its nodes, by group of the spec. A node never changes its workflow. */
  readonly members: Members;
  /** Instructions that were not sent yet, in order. */
  readonly pending: readonly Instruction[];
  /** Number of the last instructions sent, and of the last that the group is known to have taken. */
  readonly sent: number;
  readonly seen: number;
  /** Its workflow is gone, and nothing is known of its nodes. */
  readonly lost?: true;
  /** Its last report. */
  readonly reported?: LastTaken;
  /** As of `seen`: every unfinished node waits for a gate or a batch slot; every node has finished. */
  readonly quiet: boolean;
  readonly over: boolean;
  /** Version of the group's own list of peers. */
  readonly peersVersion: number;
  /** Gates that its nodes wait for in the operation under way. */
  readonly waits: readonly string[];
  /**
   * Has no part in the operation's work, which was therefore stopped there in the message that brought it.
   */
  readonly stopped?: boolean;
  /** Set when the group has no nodes and is being ended. */
  readonly ending?: true;
  /** What planning needs to know, as of the last time that nothing was under way. */
  readonly rows: readonly NodeRow[];
  /** `rows` and `outputNodes` were not carried, and the group has not reported them again yet. */
  readonly unread?: true;
  /** What the cluster's outputs read of its nodes, likewise. */
  readonly outputNodes?: OutputNodes;
  /** Nodes that failed and hold the operation. */
  readonly failed: number;
  readonly excluded: number;
}

export type Members = Readonly<Record<string, readonly Range[]>>;

export const newGroup: NodeGroup = {
  members: {},
  pending: [],
  sent: 0,
  seen: 0,
  quiet: true,
  over: true,
  peersVersion: 0,
  waits: [],
  rows: [],
  failed: 0,
  excluded: 0,
};

/** Input of a group's workflow. */
export interface GroupStart {
  readonly cluster: string;
  readonly clusterUid: string;
  readonly group: string;
  /** Another one in each start of a group of this cluster. */
  readonly uid: string;
  /** Key of the operation that starts it; then that of the last operation that it began. */
  readonly operation: string;
  readonly limits: Limits;
}

/** Everything a group's workflow carries from run to run. */
export interface GroupState extends NodesState, GroupStart {
  /** Its own nodes as peers; the cluster keeps which group changed when. */
  readonly peers: PeersState;
  /** How many operations it has begun after the one that started it. */
  readonly begun: number;
  /**
   * Uids of the last operations that it carried out, and of the last requests by which users continued one.
   */
  readonly requests: readonly string[];
  /** What it had before the operation that it began last, until the plan of that operation comes. */
  readonly forgotten?: Forgotten;
  /** The last instructions that arrived. */
  readonly received?: LastTaken;
  /** Number of the last instructions that were carried out. */
  readonly seen: number;
  /** Number of the last report. */
  readonly reports: number;
  /** Version of the cluster's peers in its last instruction. */
  readonly peersVersion: number;
  readonly services: Readonly<Record<string, ServiceSpec>>;
  readonly config: JsonObject;
  readonly command?: TaskRequest['command'];
  readonly variables?: TaskVariables;
  /** What the cluster's outputs read of nodes. */
  readonly references?: readonly NodeReference[];
  /** Gates known to be open, and the batch slots that its nodes hold. */
  readonly opened: readonly string[];
  readonly batchSlots: readonly BatchSlotRef[];
  readonly paused: boolean;
  readonly report: Pending;
}

/** An operation that is rejected changes nothing: the group then has this again. */
export interface Forgotten extends Pick<GroupState, 'operation' | 'begun' | 'requests'> {
  readonly nodes: Readonly<
    Record<
      string,
      Pick<NodeState, 'runs' | 'failure' | 'excluded'> & Pick<NodeFacts, 'toReplace' | 'mayRemove'>
    >
  >;
}

/** As the next run gets it. */
export type CarriedGroupState = Omit<GroupState, 'work' | 'nodes'> &
  PackedNodes & { readonly work?: PackedWork };

/** What only people read is left out if it does not fit. */
export function packGroup(state: GroupState, most = mostSent): CarriedGroupState {
  const whole = pack(state);
  return jsonBytes(whole) <= most ? whole : pack({ ...state, nodes: withoutHealth(state.nodes) });
}

function pack({ work, nodes, ...state }: GroupState): CarriedGroupState {
  return { ...state, ...packNodes(nodes), ...(work === undefined ? {} : { work: packWork(work) }) };
}

export function unpackGroup({ work, nodes, placements, ...state }: CarriedGroupState): GroupState {
  return {
    ...state,
    nodes: unpackNodes({ nodes, placements }),
    ...(work === undefined ? {} : { work: unpackWork(work) }),
  };
}

export interface BatchSlotRef {
  readonly batchSlot: string;
  readonly nodeId: string;
}

/** Instructions of the cluster to a group. */
export type Instruction =
  | {
      readonly do: 'begin';
      readonly operation: string;
      readonly fresh: boolean;
      readonly toReplace: readonly string[];
      readonly probe: boolean;
      /** Failed nodes of earlier operations that this one tries again; absent: none. */
      readonly retried?: Retried;
      /** A person retries: when, in ms since the epoch by the server's clock. */
      readonly retriedAt?: number;
      /** Uid of the request by which a user continues the operation; absent if it was sent before. */
      readonly retry?: string;
      /** Nodes that the operation went on without stay failed. */
      readonly keepsExcluded?: true;
      /**
       * The operation before it changed the services and is done: those that were taken off are forgotten.
       */
      readonly settled?: true;
    }
  | {
      readonly do: 'work';
      readonly work: PackedWork;
      readonly nodenums: Readonly<Record<string, number>>;
      readonly incarnation: number;
      readonly adopted?: Readonly<Record<string, AdoptedMachine>>;
      /** What the operation names for removal, in the message that brings its first plan. */
      readonly removals?: readonly Removal[];
      readonly groupServices?: Readonly<Record<string, readonly string[]>>;
      readonly services: Readonly<Record<string, ServiceSpec>>;
      readonly config: JsonObject;
      readonly command?: TaskRequest['command'];
      readonly variables?: TaskVariables;
      readonly references?: readonly NodeReference[];
      readonly limits: Limits;
    }
  /** The operation that it began was rejected. */
  | { readonly do: 'restore' }
  | { readonly do: 'probe' }
  | { readonly do: 'open'; readonly gates: readonly string[]; readonly batchSlots: readonly BatchSlotRef[] }
  | {
      readonly do: 'exclude';
      readonly nodeId: string;
      /** Of its steps that are left: they block no other node once it is hidden from its peers. */
      readonly remaining: GroupFailure['remaining'];
    }
  | { readonly do: 'abandon'; readonly nodeId: string; readonly by: string }
  | { readonly do: 'pause'; readonly paused: boolean }
  /** `settle`: first, what can go on does: after a reset of the group, all its instructions come at once. */
  | { readonly do: 'halt'; readonly how: 'settle' | 'stop' | 'cancel'; readonly discard?: Discard }
  | { readonly do: 'end' };

export interface Instructions extends Numbered {
  readonly peersVersion: number;
  readonly list: readonly Instruction[];
}

/** What happened in a group since its last report. */
export interface Pending {
  readonly counts: Readonly<Record<string, number>>;
  /** Services of nodes that joined, left or changed their address. */
  readonly announced: readonly string[];
  readonly tasks: { readonly total: number; readonly done: number; readonly failed: number };
  readonly asks: readonly BatchSlotRef[];
  readonly leaves: readonly BatchSlotRef[];
  readonly failures: readonly GroupFailure[];
  /** Machines that were abandoned without deletion. */
  readonly abandoned: readonly string[];
}

export const nothingPending: Pending = {
  counts: {},
  announced: [],
  tasks: { total: 0, done: 0, failed: 0 },
  asks: [],
  leaves: [],
  failures: [],
  abandoned: [],
};

export interface GroupFailure {
  readonly failure: OperationFailure;
  /** Group of the spec. */
  readonly group: string;
  readonly remaining: readonly Pick<Step, 'counts' | 'batchSlot'>[];
}

export interface GroupReport extends Pending, Numbered {
  readonly group: string;
  readonly seen: number;
  readonly incarnation: number;
  readonly peersVersion: number;
  readonly quiet: boolean;
  readonly over: boolean;
  /** Present when no work is under way. */
  readonly summary?: {
    readonly rows: readonly NodeRow[];
    readonly outputNodes?: OutputNodes;
    readonly members: Members;
    readonly failed: number;
    readonly excluded: number;
  };
}

export function isMember(members: Members, group: string, index: number): boolean {
  return (Object.hasOwn(members, group) ? (members[group] ?? []) : []).some(
    ([first, last]) => index >= first && index <= last,
  );
}

export function sizeOf(members: Members): number {
  return Object.values(members).reduce((sum, ranges) => sum + countOf(ranges), 0);
}

export function addMember(members: Members, group: string, index: number): Members {
  const indexes = [...indexesOf(members[group] ?? []), index].toSorted((a, b) => a - b);
  return { ...members, [group]: rangesOf(indexes) };
}

/** The part of rows of a plan that concerns some nodes only; rows without any are left out. */
export function rowsWith<Row extends Pick<Kind, 'group' | 'nodes'>>(
  kinds: readonly Row[],
  has: (group: string, index: number) => boolean,
): readonly Row[] {
  return kinds.flatMap((kind) => {
    const indexes = indexesOf(kind.nodes).filter((index) => has(kind.group, index));
    return indexes.length === 0 ? [] : [{ ...kind, nodes: rangesOf(indexes) }];
  });
}

export function failureOf(
  nodeIdOf: string,
  { action, service, kind, message, lost, at }: FailureRecord,
): OperationFailure {
  const short = message.length > 300 ? `${message.slice(0, 297)}...` : message;
  return {
    nodeId: nodeIdOf,
    action,
    service,
    kind,
    message: short,
    ...(lost === undefined ? {} : { lost }),
    at,
  };
}
