import {
  asked,
  who,
  moment,
  spec,
  carried,
  machines,
  demand,
  requestIds,
  imageUpdate,
  image,
  registration,
  machineIntents,
  nodeMachineIntents,
  wanted,
  type WorkflowMessages,
} from './argument-shapes.js';
import {
  count,
  flag,
  id,
  list,
  oneOf,
  optional,
  text,
  variants,
  withField,
  object,
  outline,
} from './shape.js';

/** The messages of pools, machines, images and reservations. */
export const machineRows = {
  pool: {
    ids: /^pool\/[^/]+$/,
    start: [
      optional(
        withField(
          { carried: carried({ name: text(200), uid: text(100) }) },
          object({ heddle: outline({ uid: text(100) }) }),
        ),
      ),
    ],
    updates: {
      configure: [object({ spec: spec(), by: who() })],
      request: [list(demand(), 5_000, 1)],
      end: [object({ ids: requestIds(), how: oneOf('returned', 'cancelled') })],
      renew: [requestIds()],
      priority: [object({ id: text(200), priority: count(1_000_000) })],
      hold: [
        object({
          nodeId: text(200),
          by: who(),
          comment: text(500),
          forMs: optional(count(30 * 24 * 3_600_000, 1)),
        }),
      ],
      endHold: [object({ nodeId: text(200) })],
      deleteNodes: [
        object({
          nodeIds: list(text(200), 100_000),
          by: who(),
          abandon: optional(flag),
          withoutUser: optional(flag),
        }),
      ],
      deletePool: [asked()],
      export: [asked({ cancel: optional(flag) })],
      disown: [machines()],
    },
    signals: { imageUpdate: [imageUpdate()] },
    queries: {
      pool: [],
      spec: [],
      failures: [],
      requests: [withField({ ids: object({ ids: requestIds() }) }, object({ since: count() }))],
      nodes: [text(20, 0)],
      waiting: [],
      records: [],
      allocated: [text(20, 0)],
      payload: [text(200)],
      node: [text(200)],
      owners: [machines()],
    },
  },
  machine: {
    ids: /^machine\/[^/]+$/,
    start: [
      withField(
        { carried: carried({ name: text(200), uid: text(100) }) },
        object({ registration: registration(), uid: text(100), by: who() }),
      ),
    ],
    updates: {
      operate: [
        object({
          intent: variants('kind', machineIntents()),
          by: who(),
          holder: optional(id()),
          key: optional(text(500)),
        }),
      ],
      cancel: [asked()],
      stopUnneeded: [object({ key: text(500) })],
      askImage: [image()],
      disown: [machines()],
    },
    signals: { check: [] },
    queries: {
      status: [],
      payload: [optional(text(200))],
      access: [object({ reservation: optional(id()) })],
      owners: [machines()],
    },
  },
  nodeMachine: {
    ids: /^machine\/([^/]+|pool\/[^/]+)\/[^/]+$/,
    start: [
      object({
        node: object({ of: oneOf('cluster', 'pool'), name: text(200), node: id() }),
        intent: variants('kind', nodeMachineIntents()),
        by: who(),
      }),
    ],
    updates: { cancel: [asked()] },
    signals: {},
    queries: { status: [], payload: [optional(text(200))], leased: [text(200)] },
  },
  image: {
    ids: /^image\/[^/]+$/,
    start: [
      optional(
        withField(
          { carried: carried({ name: text(200), uid: text(100) }) },
          object({ uid: optional(text(100)) }),
        ),
      ),
    ],
    updates: {
      configure: [object({ spec: spec(), by: who() })],
      build: [asked()],
      cancel: [asked()],
      rollback: [asked()],
      upload: [asked()],
      pause: [asked({ provider: optional(text(200)) })],
      resume: [asked({ provider: optional(text(200)) })],
      delete: [asked({ build: optional(count()) })],
      export: [asked({ cancel: optional(flag) })],
      disown: [machines()],
    },
    signals: { check: [], watch: [object({ workflowId: text(200) })] },
    queries: {
      image: [],
      spec: [],
      records: [],
      usedResources: [],
      leased: [text(200)],
      owners: [machines()],
    },
  },
  reservations: {
    ids: /^reservations$/,
    start: [
      optional(withField({ carried: carried({ uid: text(100) }) }, object({ uid: optional(text(100)) }))),
    ],
    updates: {
      reserve: [
        object({
          user: text(100),
          image: image(),
          from: optional(moment()),
          to: moment(),
          wanted: wanted(),
          by: who(),
        }),
      ],
      extend: [asked({ id: id(), to: moment() })],
      cancel: [asked({ id: id() })],
      return: [asked({ id: id() })],
      logIn: [asked({ id: id(), publicKey: optional(text(16_384)) })],
    },
    signals: {},
    queries: {
      reservation: [id()],
      reservations: [
        object({
          after: optional(id()),
          all: optional(flag),
          user: optional(text(100)),
          machine: optional(text(200)),
        }),
      ],
    },
  },
} satisfies Readonly<Record<string, WorkflowMessages>>;
