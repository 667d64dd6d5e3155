import { defineQuery, defineUpdate } from '@temporalio/workflow';
import type { PoolView, RequestView, TenantWaiting } from '../../schema/output/pool.js';
import type { NamedMachine, Ownership } from '../../model/node/ownership.js';
import type { JsonObject } from '../../model/json.js';
import type { AllocatedPage } from '../../model/pool/allocated.js';
import type {
  ConfigureReply,
  ConfigureRequest,
  DeleteNodesRequest,
  DeletePoolRequest,
  EndRequest,
  HoldRequest,
  PriorityRequest,
  RequestsWanted,
} from '../../model/pool/messages.js';
import type { ExportRequest, RecordsReply } from '../../model/move.js';
import type { CarriedPool } from '../../model/pool/carry.js';
import type { PoolFailure } from '../../model/pool/failures.js';
import type { NodeDemand } from '../../model/pool/request.js';
import type { PoolSpec } from '../../model/pool/spec.js';
import type { PoolNodesPage, RequestsPage } from '../../model/pool/view.js';

/**
 * Everything a pool's workflow can be asked. Names are part of the interface: other clients call them too.
 */
export const configureUpdate = defineUpdate<ConfigureReply, [ConfigureRequest]>('configure');
/** Many at a time: one update each would keep the server busier than the pool. */
export const requestUpdate = defineUpdate<readonly RequestView[], [readonly NodeDemand[]]>('request');
export const endUpdate = defineUpdate<void, [EndRequest]>('end');
/** Gives the ids of those that there is nothing to renew of. */
export const renewUpdate = defineUpdate<readonly string[], [readonly string[]]>('renew');
export const priorityUpdate = defineUpdate<void, [PriorityRequest]>('priority');
export const holdUpdate = defineUpdate<void, [HoldRequest]>('hold');
export const endHoldUpdate = defineUpdate<void, [{ readonly nodeId: string }]>('endHold');
/** Gives the ids of those that are deleted. */
export const deleteNodesUpdate = defineUpdate<readonly string[], [DeleteNodesRequest]>('deleteNodes');
export const deletePoolUpdate = defineUpdate<void, [DeletePoolRequest]>('deletePool');
export const exportUpdate = defineUpdate<void, [ExportRequest]>('export');
/** Credentials of nodes included. Only of a pool that was exported. */
export const recordsQuery = defineQuery<RecordsReply<CarriedPool> | null>('records');
export const poolQuery = defineQuery<PoolView>('pool');
/** The newest first. */
export const poolFailuresQuery = defineQuery<readonly PoolFailure[]>('failures');
export const poolSpecQuery = defineQuery<PoolSpec | null>('spec');
/** Credentials of handed-out nodes included. */
export const requestsQuery = defineQuery<RequestsPage, [RequestsWanted]>('requests');
export const waitingQuery = defineQuery<readonly TenantWaiting[]>('waiting');
/** A page of nodes, in the order of their making: the first for an empty text, then what `next` says. */
export const poolNodesQuery = defineQuery<PoolNodesPage, [after: string]>('nodes');
/**
 * A page of nodes that clusters drew, the oldest first: the first for an empty text, then what `next` says.
 */
export const allocatedQuery = defineQuery<AllocatedPage, [after: string]>('allocated');
export const nodePayloadQuery = defineQuery<JsonObject | null, [nodeId: string]>('payload');
export const poolOwnersQuery = defineQuery<readonly Ownership[], [readonly NamedMachine[]]>('owners');
export const poolDisownUpdate = defineUpdate<readonly Ownership[], [readonly NamedMachine[]]>('disown');
