import type { HeddleErrorCode } from '../client/errors.js';

/** What `heddle` ends with. docs/cli.md lists the same. */
export const exitCodes = {
  ok: 0,
  /** The work failed, or is held; with `plan --detailed-exitcode` any error. */
  failed: 1,
  /**
   * Wrong usage or invalid input; nothing was changed. With `plan --detailed-exitcode`: there are changes.
   */
  usage: 2,
  /** The cluster cannot accept this now: it is busy, exists already, or is being deleted. */
  refused: 3,
  /** No such cluster, node, task or plugin. */
  notFound: 4,
  /** No server, or no worker. */
  unavailable: 5,
  /** Ctrl-C while waiting; the work continues. Other interrupts have codes of their own: `interrupts.ts`. */
  interrupted: 130,
} as const;

/** The client's codes, and those of the command line itself. */
export type CliErrorCode = HeddleErrorCode | 'Usage' | 'Held' | 'Cancelled' | 'Interrupted';

/** An error with a message for people. */
export class CliError extends Error {
  readonly code: CliErrorCode;
  /** The command that helps. */
  readonly next: string | undefined;

  constructor(
    code: CliErrorCode,
    message: string,
    options: { readonly next?: string; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CliError';
    this.code = code;
    this.next = options.next;
  }
}
