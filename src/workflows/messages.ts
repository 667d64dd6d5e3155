import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';
import type { CurrentCluster } from '../model/plan-operation.js';
import type { ApplyReply, ApplyRequest, DeleteRequest, PeersPage, PeersRequest, RetryRequest } from '../model/messages.js';
import type { ClusterStatus } from '../model/status.js';
import type { ClusterSpec } from '../model/spec.js';
import type { JsonObject } from '../model/json.js';

/** Everything a cluster workflow can be asked. Names are part of the interface: other clients call them too. */
export const applyUpdate = defineUpdate<ApplyReply, [ApplyRequest]>('apply');
export const deleteUpdate = defineUpdate<ApplyReply, [DeleteRequest]>('delete');
export const retryUpdate = defineUpdate<ApplyReply, [RetryRequest]>('retry');
/** For callers that cannot wait for a worker: the request is kept until one comes. */
export const deleteSignal = defineSignal<[DeleteRequest]>('requestDelete');
export const statusQuery = defineQuery<ClusterStatus>('status');
export const specQuery = defineQuery<ClusterSpec | null>('spec');
export const currentQuery = defineQuery<CurrentCluster>('current');
export const peersQuery = defineQuery<PeersPage, [PeersRequest]>('peers');
/** A node's whole payload, credentials included: for who may log in to it. Null for an unknown node. */
export const payloadQuery = defineQuery<JsonObject | null, [nodeId: string]>('payload');
/** Claims of machines that carry no tags. */
export const takeClaimUpdate = defineUpdate<string | null, [key: string, candidates: readonly string[]]>('take');
export const releaseClaimUpdate = defineUpdate<void, [key: string]>('release');
export const heldClaimsQuery = defineQuery<Readonly<Record<string, string>>>('held');
