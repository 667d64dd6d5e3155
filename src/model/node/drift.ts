/**
 * `gone`: the provider has no such machine; `stopped`: it has it, switched off; `rebooted`: it came up again
 * since it was confirmed; `moved`: it has another address; `unreachable`: the provider says that it runs, and
 * SSH does not answer.
 */
export const drifts = ['gone', 'stopped', 'rebooted', 'moved', 'unreachable'] as const;
export type Drift = (typeof drifts)[number];

/** What the last probe found wrong with a machine. */
export interface RecordedDrift {
  readonly seen: Drift;
  /** One line for people. */
  readonly why: string;
  /** RFC 3339. */
  readonly at: string;
}
