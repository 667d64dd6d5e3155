/** What `heddle` ends with. docs/cli.md lists the same. */
export const exitCodes = {
  ok: 0,
  /** The work failed, or is held; with `plan --detailed-exitcode` any error. */
  failed: 1,
  /**
   * Wrong usage or invalid input; nothing was changed. With `plan --detailed-exitcode`: there are changes.
   */
  usage: 2,
  /** The cluster does not take this now: busy, there already, being deleted. */
  refused: 3,
  /** No such cluster, node, task or plugin. */
  notFound: 4,
  /** No server, or no worker. */
  unavailable: 5,
  /** Ctrl-C while waiting; the work goes on. */
  interrupted: 130,
} as const;
