/** The last argument of a sealed input: the call of the activity that it is for. */
export interface ActivityCall {
  /** Names the call; results and failures answer it. */
  readonly call: string;
  /**
   * The task queue that the workflow chose. Anyone who may call the Temporal server can move a
   * task to another one.
   */
  readonly queue: string;
}

export function isActivityCall(value: unknown): value is ActivityCall {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as ActivityCall).call === 'string' &&
    typeof (value as ActivityCall).queue === 'string'
  );
}
