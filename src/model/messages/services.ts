import { who, moment, milliseconds, content, type WorkflowMessages } from './argument-shapes.js';
import {
  count,
  flag,
  id,
  jsonObject,
  list,
  nullable,
  number,
  optional,
  record,
  text,
  object,
  outline,
} from './shape.js';

/** The messages of workflows that others share: resources, locks, rate limiters, claims, periodic checks. */
export const serviceRows = {
  artifacts: {
    ids: /^artifacts$/,
    start: [optional(object({ carried: record(outline({}), 10_000) }))],
    updates: {
      put: [object({ name: id(), by: who(), ...content() })],
      set: [id(), nullable(count())],
      rollback: [id()],
      prune: [object({ used: list(text(100), 100_000), before: text(40) })],
    },
    signals: {},
    queries: { catalogue: [] },
  },
  artifactPart: {
    ids: /^artifact\//,
    start: [object({ ...content(), part: count() }), text(1_000_000, 0)],
    updates: {},
    signals: { keep: [], drop: [] },
    queries: {},
  },
  lock: {
    ids: /^lock\//,
    start: [optional(object({ carried: optional(object({ holder: text(200), until: moment() })) }))],
    updates: {
      take: [object({ holder: text(200), leaseMs: milliseconds(), waitMs: milliseconds() })],
      release: [text(200)],
    },
    signals: {},
    queries: {},
  },
  rateLimiter: {
    ids: /^rate-limiter\//,
    start: [optional(object({ carried: moment() }))],
    updates: { take: [object({ count: count(1_000, 1), everyMs: number(0, 3_600_000) })] },
    signals: {},
    queries: {},
  },
  claims: {
    ids: /^claims\//,
    start: [optional(object({ carried: record(text(500), 100_000) }))],
    updates: {
      claim: [
        object({
          take: list(object({ key: text(500), candidates: count() }), 10_000),
          candidates: list(list(id(500), 100_000), 10_000),
          release: list(text(500), 10_000),
        }),
      ],
    },
    signals: {},
    queries: { held: [] },
  },
  delivery: {
    ids: /^delivery\//,
    start: [
      object({
        webhook: id(),
        event: object({ id: text(500), type: text(100), timestamp: text(40), data: jsonObject(65_536) }),
      }),
    ],
    updates: {},
    signals: {},
    queries: {},
  },
  sweep: {
    ids: /^sweep/,
    start: [
      object({
        policy: object({ minimumAgeMs: number(0, 1e12), cap: count(), delete: flag }),
        named: optional(list(text(500), 10_000)),
        earlier: optional(list(outline({}), 10_000)),
        resumed: optional(object({ at: text(40), by: who(), uids: list(text(500), 10_000) })),
      }),
    ],
    updates: {},
    signals: {},
    queries: {},
  },
  periodicChecks: { ids: /^periodic-checks/, start: [], updates: {}, signals: {}, queries: {} },
} satisfies Readonly<Record<string, WorkflowMessages>>;
