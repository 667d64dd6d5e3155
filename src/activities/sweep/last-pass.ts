import type { MissingPass } from '../../model/sweep/sweep.js';

/** A run of the sweep. */
export interface PassOfSweep {
  readonly workflowId: string;
  readonly runId: string;
  /** RFC 3339. */
  readonly at: string;
}

/** What this worker remembers of the sweep outside of the server's database. */
export interface LastPass {
  /**
   * The last pass that this worker took part in, if the server should still have it and does not. What was
   * before `resumedAt` does not count.
   */
  missing(resumedAt: string | undefined): Promise<MissingPass | undefined>;
  record(pass: PassOfSweep): Promise<void>;
}
