import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { ClaimRequest } from '../../model/node/claims.js';
import type { ReleaseRequest, LeaseRequest, NodeReply } from '../../model/node/lease.js';
import type { PackedCurrent } from '../../model/plan/packed.js';
import type {
  AbandonRequest,
  ApplyReply,
  ApplyRequest,
  CancelRequest,
  OperateRequest,
  PlainRequest,
  ReadOutputsRequest,
} from '../../model/cluster/messages.js';
import type { ClusterEvent } from '../../model/cluster/event.js';
import { clusterEventSignalName } from '../../model/names.js';
import type { PeersPage, PeersRequest } from '../../model/node/peers.js';
import type { GroupReport, Instructions } from '../../model/cluster/group.js';
import type { NamedMachine, Ownership } from '../../model/node/ownership.js';
import type { ClusterStatus, NodeStatus } from '../../schema/output/status.js';
import type { Outputs } from '../../model/cluster/outputs.js';
import type { ClusterSpec } from '../../model/cluster/spec.js';
import type { JsonObject } from '../../model/json.js';

/**
 * Everything a cluster workflow can be asked. Names are part of the interface: other clients call them too.
 */
export const applyUpdate = defineUpdate<ApplyReply, [ApplyRequest]>('apply');
export const deleteUpdate = defineUpdate<ApplyReply, [PlainRequest]>('delete');
/** Start, stop, restart, reconfigure, replace, exec, rollback. */
export const operateUpdate = defineUpdate<ApplyReply, [OperateRequest]>('operate');
export const retryUpdate = defineUpdate<ApplyReply, [PlainRequest]>('retry');
export const cancelUpdate = defineUpdate<ApplyReply, [CancelRequest]>('cancel');
export const pauseUpdate = defineUpdate<ApplyReply, [PlainRequest]>('pause');
export const resumeUpdate = defineUpdate<ApplyReply, [PlainRequest]>('resume');
export const abandonUpdate = defineUpdate<ApplyReply, [AbandonRequest]>('abandon');
/** For callers that cannot wait for a worker: the request is kept until one comes. */
export const deleteSignal = defineSignal<[PlainRequest]>('requestDelete');
/** To the workflow that started the cluster as its child. */
export const clusterEventSignal = defineSignal<[ClusterEvent]>(clusterEventSignalName);
export const statusQuery = defineQuery<ClusterStatus>('status');
export const specQuery = defineQuery<ClusterSpec | null, [which: 'present' | 'rollback']>('spec');
/** Digests of resources that the cluster uses, may go back to, or is asked to use. */
export const usedResourcesQuery = defineQuery<readonly string[]>('usedResources');
export const currentQuery = defineQuery<PackedCurrent>('current');
export const peersQuery = defineQuery<PeersPage, [PeersRequest]>('peers');
/** The outputs of the cluster with their values, secret ones included. */
export const outputsQuery = defineQuery<Outputs>('outputs');
/** The clusters whose outputs this one uses. */
export const sourcesQuery = defineQuery<readonly string[]>('sources');
/** Another cluster uses outputs of this one, and has these values of them. */
export const readOutputsSignal = defineSignal<[ReadOutputsRequest]>('readOutputs');
/** Outputs of another cluster, which this one uses, have other values. */
export const outputsChangedSignal = defineSignal('outputsChanged');
/** A node's whole payload, credentials included, for a login. Null for an unknown node. */
export const payloadQuery = defineQuery<JsonObject | null, [nodeId: string]>('payload');
/**
 * A node, credentials included, for a workflow that works on it. Answered by clusters, their groups and
 * pools.
 */
export const nodeQuery = defineQuery<NodeReply, [nodeId: string]>('node');
/**
 * Leases a node to another workflow until that releases it. Requests with the same lease id are idempotent.
 */
export const leaseUpdate = defineUpdate<void, [LeaseRequest]>('lease');
export const releaseSignal = defineSignal<[ReleaseRequest]>('release');
/** Whether a workflow still works on the node it leases. */
export const leasedQuery = defineQuery<boolean, [leaseId: string]>('leased');
/** Probes the machines of a cluster at rest. Returns the number of the probe; `current` shows its result. */
export const checkUpdate = defineUpdate<number>('check');
/** Between a cluster and its groups. */
/** To machines and images: the periodic check is due. */
export const checkSignal = defineSignal('check');
export const instructSignal = defineSignal<[Instructions]>('instruct');
export const reportSignal = defineSignal<[GroupReport]>('report');
export const nodesQuery = defineQuery<readonly NodeStatus[]>('nodes');
/** Whose machines are these? For the sweep; asked of clusters and of their groups. */
export const ownersQuery = defineQuery<readonly Ownership[], [readonly NamedMachine[]]>('owners');
/** Like `owners`; the key of a machine that is reported free is never used again. */
export const disownUpdate = defineUpdate<readonly Ownership[], [readonly NamedMachine[]]>('disown');
/** Locks to call a provider. */
export interface LockRequest {
  readonly holder: string;
  /** How long it lasts unless it is renewed, in ms. */
  readonly leaseMs: number;
  /** How long this message waits for it, in ms; 0 for a renewal. */
  readonly waitMs: number;
}
export const acquireLockUpdate = defineUpdate<boolean, [LockRequest]>('take');
export const releaseLockUpdate = defineUpdate<void, [holder: string]>('release');
/** Calls of a provider account that are to be made one after the other. */
export interface CallTimesRequest {
  readonly count: number;
  /** From one to the next, in ms. */
  readonly everyMs: number;
}
/** Gives how long from now the first of them is to wait, in ms. */
export const acquireCallTimesUpdate = defineUpdate<number, [CallTimesRequest]>('take');
/** Claims of machines that carry no tags. Answers with the machine of each key under `take`, in their order. */
export const claimUpdate = defineUpdate<readonly (string | null)[], [ClaimRequest]>('claim');
export const heldClaimsQuery = defineQuery<Readonly<Record<string, string>>>('held');
