import { milliseconds, moment } from '../argument-shapes.js';
import { replies, row, type Contract, type RequestOf } from '../contract.js';
import { count, id, list, number, object, optional, record, text } from '../shape.js';

/** The lock of a provider account. */
export const lockContract = {
  ids: /^lock\//,
  start: [optional(object({ carried: optional(object({ holder: text(200), until: moment() })) }))],
  updates: {
    take: row(
      'Wait for the lock, or renew its lease; false: ask again.',
      [
        object({
          holder: text(200),
          /** How long it lasts unless it is renewed, in ms. */
          leaseMs: milliseconds(),
          /** How long this message waits for it, in ms; 0 for a renewal. */
          waitMs: milliseconds(),
        }),
      ],
      replies<boolean>(),
    ),
    release: row('Release the lock.', [text(200)]),
  },
  signals: {},
  queries: {},
} satisfies Contract;

/** Calls of a provider account that are to be made one after the other. */
export const rateLimiterContract = {
  ids: /^rate-limiter\//,
  start: [optional(object({ carried: moment() }))],
  updates: {
    take: row(
      'Reserve the next times for calls; returns how long from now the first of them is to wait, in ms.',
      [
        object({
          count: count(1_000, 1),
          /** From one to the next, in ms. */
          everyMs: number(0, 3_600_000),
        }),
      ],
      replies<number>(),
    ),
  },
  signals: {},
  queries: {},
} satisfies Contract;

/** Who has which machine of an account whose machines carry no tags. */
export const claimsContract = {
  ids: /^claims\//,
  start: [optional(object({ carried: record(text(500), 100_000) }))],
  updates: {
    claim: row(
      'Release machines, then claim the first free candidate for each key; returns the machine of each, in their order.',
      [
        object({
          /** Keys that need a machine: the one they have, or the first free one of a list in `candidates`. */
          take: list(object({ key: text(500), candidates: count() }), 10_000),
          /** Lists of machine names. */
          candidates: list(list(id(500), 100_000), 10_000),
          /** Keys whose machine becomes free. */
          release: list(text(500), 10_000),
        }),
      ],
      replies<readonly (string | null)[]>(),
    ),
  },
  signals: {},
  queries: {
    held: row(
      'Claimed machines and the keys that hold them.',
      [],
      replies<Readonly<Record<string, string>>>(),
    ),
  },
} satisfies Contract;

export type ClaimRequest = RequestOf<typeof claimsContract.updates.claim>;
