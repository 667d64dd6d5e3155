/** What an attempt is at. */
export interface AttemptStep {
  readonly step: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** The async stack at the point where it began that. */
  readonly stack: string;
}

/**
 * The stack is formatted only when it is read: that takes longer than all else that an attempt notes
 * of a step.
 */
export function beginStep(step: string): AttemptStep {
  const trace = new Error(step);
  return {
    step,
    since: Date.now(),
    get stack() {
      return trace.stack ?? '';
    },
  };
}
