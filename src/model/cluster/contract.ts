import { asked, carried, peersRequest, spec, who, workflowId } from '../argument-shapes.js';
import { replies, row, type Contract, type RequestOf } from '../contract.js';
import type { PeersPage } from '../node/peers.js';
import { anyIntent, applyLimits, operateIntent } from '../plan/intent/intent.js';
import type { PackedCurrent } from '../plan/packed.js';
import { disownRow, nodeRow, ownersRow, payloadRow, usedResourcesRow } from '../shared-messages.js';
import type { ClusterStatus, NodeStatus } from '../../schema/output/status.js';
import {
  anything,
  count,
  flag,
  id,
  jsonObject,
  list,
  number,
  object,
  oneOf,
  optional,
  outline,
  record,
  text,
  typed,
  variants,
  withField,
  yes,
} from '../shape.js';
import { consent, type Basis } from './consent.js';
import type { GroupReport, Instructions } from './group.js';
import type { Outputs } from './outputs.js';
import type { RevisionStart } from './revision.js';
import type { ClusterSpec } from './spec.js';

export interface ApplyReply {
  readonly operation: string;
  readonly clusterUid: string;
  /** The cluster has this spec already, or is on its way there: nothing was queued. */
  readonly unchanged?: true;
}

const operation = replies<ApplyReply>();

const peersRow = row('The nodes that changed since a version.', [peersRequest()], replies<PeersPage>());

export const clusterContract = {
  ids: /^cluster\/[^/]+$/,
  start: [
    withField<unknown, unknown>(
      {
        carried: carried({ name: id(), uid: text(100) }),
        heddle: object({ heddle: outline({ uid: text(100) }) }),
      },
      spec(),
    ),
  ],
  updates: {
    apply: row(
      'Apply a spec to the cluster.',
      [
        object({
          /** Closed or raw; the cluster checks it again when it plans. */
          spec: spec(),
          by: who(),
          /** Refuse if the cluster exists already with another spec. */
          createOnly: optional(flag),
          ...applyLimits,
          consent: optional(consent),
          /** Wait for the operations before it instead of being refused. */
          queue: optional(flag),
        }),
      ],
      operation,
    ),
    delete: row('Delete the cluster; cancels the operation under way.', [asked()], operation),
    operate: row(
      'Start, stop, restart, reconfigure, replace, exec, rollback, scale.',
      [
        object({
          intent: operateIntent,
          by: who(),
          queue: optional(flag),
          /** For a rollback to a revision: the spec of the revision. */
          spec: optional(spec()),
          consent: optional(consent),
        }),
      ],
      operation,
    ),
    retry: row(
      'Continue a held operation from what failed.',
      [asked({ operation: operationUid() })],
      operation,
    ),
    cancel: row(
      'Cancel the operation under way; the cluster keeps its current state.',
      [asked({ operation: operationUid() })],
      operation,
    ),
    pause: row('Start no new tasks until resume; running tasks finish.', [asked()], operation),
    resume: row('Continue after pause.', [asked()], operation),
    abandon: row('Forget a node whose machine cannot be deleted.', [asked({ nodeId: id() })], operation),
    check: row(
      'Check the machines of a cluster at rest; returns the number of the check, and the plan shows its result.',
      [],
      replies<number>(),
    ),
    lease: row('Lease a node to another workflow; a repeated lease id is idempotent.', [
      object({
        nodeId: id(),
        leaseId: text(200),
        /** The workflow that gets the node. */
        to: workflowId(),
        /** It rewrites the disk. */
        rewrites: optional(yes),
      }),
    ]),
    disown: disownRow,
  },
  signals: {
    requestDelete: row('Delete the cluster; kept until a worker is available.', [asked()]),
    release: row('Return a leased node.', [
      object({
        leaseId: text(200),
        /** The machine was switched off and on, and answers: its services must be started. */
        repair: flag,
        /** Its disk was rewritten: all services are installed again, on the machine described here. */
        rewritten: optional(jsonObject(65_536)),
        /** Its disk holds no complete system: another machine replaces it. */
        broken: optional(yes),
      }),
    ]),
    report: row('The results of the instructions to a group.', [groupReport()]),
    readOutputs: row('Another cluster uses outputs of this one.', [
      object({
        /** The cluster that uses the outputs. */
        cluster: id(),
        /** The values that it has, by the names of the outputs; without any, it no longer uses one. */
        values: jsonObject(65_536),
      }),
    ]),
    outputsChanged: row('Outputs that the cluster uses have other values.', []),
  },
  queries: {
    status: row('Nodes, operation and history, without secrets.', [], replies<ClusterStatus>()),
    peers: peersRow,
    usedResources: usedResourcesRow,
    current: row(
      'The input of the planner, and the basis of a consent to its plan.',
      [],
      replies<PackedCurrent & { readonly basis: Basis }>(),
    ),
    spec: row(
      'The spec that was accepted last, or the one that a rollback would return to.',
      [optional(oneOf('present', 'rollback'))],
      replies<ClusterSpec | null>(),
    ),
    payload: payloadRow,
    node: nodeRow,
    outputs: row('The outputs, secret ones included.', [], replies<Outputs>()),
    sources: row('The clusters whose outputs this one uses.', [], replies<readonly string[]>()),
    owners: ownersRow,
  },
} satisfies Contract;

export const groupContract = {
  ids: /^cluster\/[^/]+\/group\/[^/]+$/,
  start: [
    withField<unknown, unknown>(
      { carried: carried({ cluster: id(), clusterUid: text(100) }) },
      object({
        cluster: id(),
        clusterUid: text(100),
        group: id(),
        uid: text(100),
        operation: id(),
        limits: outline({}),
      }),
    ),
  ],
  updates: { disown: disownRow },
  signals: { instruct: row('Instructions of the cluster.', [instructions()]) },
  queries: {
    nodes: row('The nodes, without secrets.', [], replies<readonly NodeStatus[]>()),
    payload: payloadRow,
    node: nodeRow,
    owners: ownersRow,
    peers: peersRow,
  },
} satisfies Contract;

/** A revision of the spec of a cluster. */
export const revisionContract = {
  ids: /^cluster\/[^/]+\/revision\/[^/]+$/,
  start: [
    typed<RevisionStart>(
      object({
        carried: object({ cluster: id(), clusterUid: text(100), number: count(1e9, 1), spec: spec() }),
      }),
    ),
  ],
  updates: {},
  signals: { drop: row('The cluster no longer keeps the revision.', []) },
  queries: { spec: row('The spec.', [], replies<ClusterSpec>()), usedResources: usedResourcesRow },
} satisfies Contract;

/** A preview. */
export const planContract = {
  ids: /^plan\//,
  start: [
    object({
      clusterName: text(200),
      intent: anyIntent,
      spec: optional(spec()),
      current: outline({}),
      checks: optional(yes),
      clusterUid: optional(id()),
    }),
  ],
  updates: {},
  signals: {},
  queries: {},
} satisfies Contract;

export type ApplyRequest = RequestOf<typeof clusterContract.updates.apply>;
/** Any operation but apply and delete. */
export type OperateRequest = RequestOf<typeof clusterContract.updates.operate>;
/** Delete, pause, resume: they carry only the requester. */
export type PlainRequest = RequestOf<typeof clusterContract.updates.pause>;
export type RetryRequest = RequestOf<typeof clusterContract.updates.retry>;
export type CancelRequest = RequestOf<typeof clusterContract.updates.cancel>;
export type AbandonRequest = RequestOf<typeof clusterContract.updates.abandon>;
export type LeaseRequest = RequestOf<typeof clusterContract.updates.lease>;
export type ReleaseRequest = RequestOf<typeof clusterContract.signals.release>;
export type ReadOutputsRequest = RequestOf<typeof clusterContract.signals.readOutputs>;

/**
 * The uid of the operation that is meant; absent if the client saw none. A request that is delivered again
 * after a reset must not reach another operation with the same number.
 */
function operationUid() {
  return optional(id());
}

function groupReport() {
  const batchSlots = list(outline({ batchSlot: text(1_000), nodeId: id() }), 10_000);
  const failure = outline({
    failure: outline({
      nodeId: id(),
      action: text(50),
      kind: text(200),
      message: text(1_000, 0),
      at: text(40),
    }),
    group: id(),
    remaining: list(outline({}), 10_000),
  });
  return typed<GroupReport>(
    outline({
      groupUid: text(100),
      seq: count(),
      at: count(),
      group: id(),
      seen: count(),
      incarnation: count(),
      peersVersion: count(),
      quiet: flag,
      over: flag,
      counts: record(count(1_000_000), 100_000),
      announced: list(text(200), 100_000),
      tasks: outline({ total: number(-1e9, 1e9), done: number(-1e9, 1e9), failed: number(-1e9, 1e9) }),
      asks: batchSlots,
      leaves: batchSlots,
      failures: list(failure, 10_000),
      abandoned: list(text(2_000), 10_000),
      summary: optional(
        outline({
          rows: list(outline({}), 10_000),
          members: record(list(anything, 10_000), 10_000),
          failed: count(),
          excluded: count(),
        }),
      ),
    }),
  );
}

function instructions() {
  return typed<Instructions>(
    object({
      groupUid: text(100),
      seq: count(),
      at: count(),
      peersVersion: count(),
      list: list(instruction(), 1_000),
    }),
  );
}

function instruction() {
  const names = list(text(1_000), 100_000);
  return variants(
    'do',
    {
      begin: {
        operation: id(),
        fresh: flag,
        toReplace: names,
        probe: flag,
        retried: optional(outline({ nodes: optional(names), services: optional(names) })),
        retriedAt: optional(count()),
        retry: optional(id()),
      },
      restore: {},
      work: {
        work: outline({
          operation: id(),
          kinds: outline({
            kinds: list(outline({ chain: list(count(), 100_000) }), 100_000),
            steps: list(outline({}), 100_000),
            waits: list(names, 100_000),
          }),
          placements: outline({}),
          positions: outline({}),
        }),
        nodenums: outline({}),
        incarnation: count(),
        services: outline({}),
        config: outline({}),
        limits: outline({}),
      },
      probe: {},
      open: { gates: names, batchSlots: list(outline({ batchSlot: text(1_000), nodeId: id() }), 100_000) },
      exclude: {
        nodeId: id(),
        remaining: list(
          outline({ counts: optional(text(1_000)), batchSlot: optional(text(1_000)) }),
          100_000,
        ),
      },
      abandon: { nodeId: id(), by: text(500) },
      pause: { paused: flag },
      halt: {
        how: oneOf('settle', 'stop', 'cancel'),
        discard: optional(outline({ operation: id(), nodes: optional(names) })),
      },
      end: {},
    },
    outline,
  );
}
