/** What was asked for cannot be planned as it is; the message says why and what there is instead. */
export class PlanError extends Error {
  override readonly name = 'PlanError';
}
