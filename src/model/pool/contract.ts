import { asked, carried, requestIds, spec, who } from '../argument-shapes.js';
import { replies, row, type Contract, type RequestOf } from '../contract.js';
import type { ImageUpdate } from '../image/notification.js';
import type { RecordsReply } from '../move.js';
import { disownRow, nodeRow, ownersRow, payloadRow } from '../shared-messages.js';
import {
  count,
  flag,
  jsonObject,
  list,
  object,
  oneOf,
  optional,
  outline,
  record,
  text,
  withField,
  yes,
  type Shape,
} from '../shape.js';
import type { PoolFailure, PoolView, RequestView, TenantWaiting } from '../../schema/output/pool.js';
import type { AllocatedPage } from './allocated.js';
import type { CarriedPool } from './carry.js';
import { maxNodesOfRequest } from './check-demand.js';
import type { NodeDemand } from './request.js';
import type { PoolSpec } from './spec.js';
import type { PoolNodesPage, RequestsPage } from './view.js';

export interface ConfigureReply {
  /** It was configured so already. */
  readonly unchanged: boolean;
  readonly poolUid: string;
}

export const poolContract = {
  ids: /^pool\/[^/]+$/,
  start: [
    optional(
      withField<unknown, unknown>(
        { carried: carried({ name: text(200), uid: text(100) }) },
        object({ heddle: outline({ uid: text(100) }) }),
      ),
    ),
  ],
  updates: {
    configure: row(
      'Apply a configuration to the pool.',
      [
        object({
          /** A closed pool; it is checked again when it is planned. */
          spec: spec(),
          by: who(),
        }),
      ],
      replies<ConfigureReply>(),
    ),
    // Many at a time: one update each would keep the server busier than the pool.
    request: row('Request nodes.', [list(demand(), 5_000, 1)], replies<readonly RequestView[]>()),
    end: row('End requests: release their nodes, or cancel them.', [
      object({ ids: requestIds(), how: oneOf('returned', 'cancelled') }),
    ]),
    renew: row(
      'Renew the leases of requests; returns the ids of requests without nodes.',
      [requestIds()],
      replies<readonly string[]>(),
    ),
    priority: row('Change the priority of a waiting request.', [
      object({
        id: text(200),
        /** Low comes first. */
        priority: count(1_000_000),
      }),
    ]),
    hold: row('Hold a node for inspection.', [
      object({
        nodeId: text(200),
        by: who(),
        comment: text(500),
        /** In ms; absent: until it is ended, or the label's limit. */
        forMs: optional(count(30 * 24 * 3_600_000, 1)),
      }),
    ]),
    endHold: row('End a hold; the node is then treated as used.', [object({ nodeId: text(200) })]),
    deleteNodes: row(
      'Delete nodes; returns the ids of those that are deleted.',
      [
        object({
          nodeIds: list(text(200), 100_000),
          by: who(),
          /** Forget them without deleting their machines: for machines that cannot be deleted. */
          abandon: optional(flag),
          /** Leave those that are in use or held by then. */
          withoutUser: optional(flag),
        }),
      ],
      replies<readonly string[]>(),
    ),
    deletePool: row('Delete all nodes, then the pool.', [asked()]),
    export: row('Stop for a move to another server or namespace, or continue.', [
      asked({
        /** Continue here. */
        cancel: optional(flag),
      }),
    ]),
    disown: disownRow,
  },
  signals: { imageUpdate: row('An image of the library reports which versions it offers.', [imageUpdate()]) },
  queries: {
    pool: row('Labels, provider pools and counts.', [], replies<PoolView>()),
    spec: row('The configuration.', [], replies<PoolSpec | null>()),
    failures: row('What failed in the last day, the newest first.', [], replies<readonly PoolFailure[]>()),
    requests: row(
      'Requests by id, or those that changed after a version, with the credentials of allocated nodes.',
      [withField({ ids: object({ ids: requestIds() }) }, object({ since: count() }))],
      replies<RequestsPage>(),
    ),
    // The first page for an empty text, then what `next` says.
    nodes: row(
      'A page of nodes in order of creation, without secrets.',
      [text(20, 0)],
      replies<PoolNodesPage>(),
    ),
    waiting: row('The tenants whose requests wait, and for what.', [], replies<readonly TenantWaiting[]>()),
    records: row(
      'The records of an exported pool, with credentials; null unless it is exported.',
      [],
      replies<RecordsReply<CarriedPool> | null>(),
    ),
    // As `nodes`.
    allocated: row(
      'A page of nodes allocated to clusters, the oldest first, without secrets.',
      [text(20, 0)],
      replies<AllocatedPage>(),
    ),
    payload: payloadRow,
    node: nodeRow,
    owners: ownersRow,
  },
} satisfies Contract;

export type ConfigureRequest = RequestOf<typeof poolContract.updates.configure>;
export type PriorityRequest = RequestOf<typeof poolContract.updates.priority>;
export type HoldRequest = RequestOf<typeof poolContract.updates.hold>;
export type DeleteNodesRequest = RequestOf<typeof poolContract.updates.deleteNodes>;
/** Requests to report: by id, or changed after a version. */
export type RequestsWanted = RequestOf<typeof poolContract.queries.requests>;

function demand(): Shape<NodeDemand> {
  return object({
    id: text(200),
    labels: list(text(200, 0), maxNodesOfRequest, 1),
    requester: text(200),
    priority: optional(count(1_000_000)),
    attributes: optional(jsonObject(8_192)),
    tenant: optional(text(200)),
    providerPool: optional(text(200)),
    leaseMs: optional(count(30 * 24 * 3_600_000, 1_000)),
    heldMs: optional(count(24 * 3_600_000, 1_000)),
    tags: optional(record(text(2_048, 0), 100)),
  });
}

function imageUpdate(): Shape<ImageUpdate> {
  return object({
    image: text(200),
    uid: text(100),
    version: count(),
    offers: record(object({ build: count(), image: text(1_000) }), 10_000),
    gone: optional(yes),
  });
}
