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

/** Whether a failure of PLAN rejects the request; after any other one, planning may be repeated. */
export function isRejection(type: unknown): type is 'Invalid' | 'Refused' {
  return type === 'Invalid' || type === 'Refused';
}
