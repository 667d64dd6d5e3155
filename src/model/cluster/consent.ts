import type { Json } from '../json.js';
import { stableJson } from '../node/payload.js';
import type { Range } from '../plan/ranges.js';
import { count, id, list, object, optional, record, text, typed, type ValueOf } from '../shape.js';

/** Of a node in its group. */
export const highestIndex = 1_000_000;

const maxRanges = 10_000;
const index = count(highestIndex, 1);
const ranges = list(typed<Range>(list(index, 2, 2)), maxRanges);

/** The state for which a user gave consent. */
const basis = object({
  /** Absent if there was no cluster. */
  clusterUid: optional(id()),
  /** Number of its last operation. */
  operation: count(),
  /** State of the operation under way; absent if there is none. */
  state: optional(text(20)),
  /** Uid of the last request by which a user continued it. */
  retry: optional(text(100)),
});

/**
 * What a user agreed to before the request; what is absent is not limited. It is for the first plan of the
 * operation: what that plan removes is recorded, and later plans keep to it.
 */
export const consent = object({
  /**
   * The request is refused if the cluster was created again, or an operation was requested, continued or
   * ended since.
   */
  basedOn: optional(basis),
  /**
   * Nodes whose machines may be lost, by group. The plan is refused if it removes the machine of another
   * node: the cluster may have changed since.
   */
  losable: optional(record(ranges, maxRanges)),
  /** `digest` of the plan that the user saw: any other plan is refused. */
  planDigest: optional(text(100)),
});

export type Basis = ValueOf<typeof basis>;
export type Consent = ValueOf<typeof consent>;
export type Losable = NonNullable<Consent['losable']>;

/**
 * Whether nothing happened in between, as far as is known. A request for a cluster that was not there may
 * find a new one.
 */
export function isSameBasis(earlier: Basis, now: Basis): boolean {
  const { clusterUid = now.clusterUid } = earlier;
  return stableJson({ ...earlier, clusterUid } as Json) === stableJson({ ...now } as Json);
}

/** Whether two requests may do the same, whatever state they are based on. */
export function allowTheSame(one: Consent = {}, other: Consent = {}): boolean {
  const limits = ({ losable, planDigest }: Consent): string =>
    stableJson([losable ?? null, planDigest ?? null] as unknown as Json);
  return limits(one) === limits(other);
}
