/** What the run folders of scripts may take on a node, for each user that scripts run as. */
export interface RunFolders {
  /** How long one is kept. */
  readonly days: number;
  readonly count: number;
  /** Of all together, in MiB. */
  readonly sizeMb: number;
  /** Of each output stream of a script, in MiB. */
  readonly outputMb: number;
}

export const defaultRunFolders: RunFolders = { days: 90, count: 1_000, sizeMb: 1_024, outputMb: 64 };
