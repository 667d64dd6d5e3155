import {
  asked,
  who,
  workflowId,
  spec,
  carried,
  machines,
  peersRequest,
  groupReport,
  instruction,
  type WorkflowMessages,
} from './argument-shapes.js';
import {
  count,
  flag,
  id,
  jsonObject,
  list,
  oneOf,
  optional,
  text,
  withField,
  yes,
  object,
  outline,
} from './shape.js';

/** The messages of clusters, their groups, and previews of plans. */
export const clusterRows = {
  cluster: {
    ids: /^cluster\/[^/]+$/,
    start: [
      withField(
        {
          carried: carried({ name: id(), uid: text(100) }),
          heddle: object({ heddle: outline({ uid: text(100) }) }),
        },
        spec(),
      ),
    ],
    updates: {
      apply: [
        object({
          spec: spec(),
          by: who(),
          createOnly: optional(flag),
          width: optional(count()),
          nodes: optional(list(text(200), 10_000, 1)),
          services: optional(list(text(200), 10_000, 1)),
          queue: optional(flag),
        }),
      ],
      delete: [asked()],
      // The fields of each intent: check-intent.ts.
      operate: [object({ intent: outline({ kind: text(20) }), by: who(), queue: optional(flag) })],
      retry: [asked()],
      cancel: [asked({ operation: optional(id()) })],
      pause: [asked()],
      resume: [asked()],
      abandon: [asked({ nodeId: id() })],
      check: [],
      lease: [object({ nodeId: id(), leaseId: text(200), to: workflowId(), rewrites: optional(yes) })],
      disown: [machines()],
    },
    signals: {
      requestDelete: [asked()],
      release: [
        object({
          leaseId: text(200),
          repair: flag,
          rewritten: optional(jsonObject(65_536)),
          broken: optional(yes),
        }),
      ],
      report: [groupReport()],
      readOutputs: [object({ cluster: id(), values: jsonObject(65_536) })],
      outputsChanged: [],
    },
    queries: {
      status: [],
      peers: [peersRequest()],
      usedResources: [],
      current: [],
      spec: [optional(oneOf('present', 'rollback'))],
      payload: [id()],
      node: [id()],
      outputs: [],
      sources: [],
      owners: [machines()],
    },
  },
  group: {
    ids: /^cluster\/[^/]+\/group\/[^/]+$/,
    start: [
      withField(
        { carried: carried({ cluster: id(), clusterUid: text(100) }) },
        object({ cluster: id(), clusterUid: text(100), group: id(), uid: text(100), limits: outline({}) }),
      ),
    ],
    updates: { disown: [machines()] },
    signals: {
      instruct: [
        object({
          groupUid: text(100),
          seq: count(),
          at: count(),
          peersVersion: count(),
          list: list(instruction(), 1_000),
        }),
      ],
    },
    queries: { nodes: [], payload: [id()], node: [id()], owners: [machines()], peers: [peersRequest()] },
  },
  plan: {
    ids: /^plan\//,
    start: [
      object({
        clusterName: text(200),
        intent: outline({ kind: text(20) }),
        spec: optional(spec()),
        current: outline({}),
        checks: optional(yes),
      }),
    ],
    updates: {},
    signals: {},
    queries: {},
  },
} satisfies Readonly<Record<string, WorkflowMessages>>;
