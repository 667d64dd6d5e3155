/** A name that is not there, and those that are. */
interface UnknownName {
  readonly word: string;
  readonly known: readonly string[];
}

/** The request cannot be planned; the message names the reason and the alternatives. */
export class PlanError extends Error {
  override readonly name = 'PlanError';

  readonly unknown: UnknownName | undefined;

  constructor(message: string, unknown?: UnknownName) {
    super(message);
    this.unknown = unknown;
  }
}

/** The request is right, but the state of the cluster does not permit it. */
export class PlanRefused extends PlanError {}

/**
 * `Invalid`: the request is wrong. `NotFound`: it names a node or service that does not exist. `Refused`: the
 * state of the cluster does not permit it.
 */
export const rejectionTypes = ['Invalid', 'NotFound', 'Refused'] as const;
type RejectionType = (typeof rejectionTypes)[number];

/** PLAN rejects the request; it fails where planning may be repeated. */
export interface PlanRejection {
  readonly type: RejectionType;
  readonly message: string;
  /** The problems of the spec, for programs. */
  readonly details?: readonly unknown[];
}

export function isRejection(type: unknown): type is RejectionType {
  return rejectionTypes.some((name) => name === type);
}
