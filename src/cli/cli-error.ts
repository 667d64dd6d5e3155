import type { HeddleErrorCode } from '../client/errors.js';

/** The client's words, and those of the command line itself. */
export type CliErrorCode = HeddleErrorCode | 'Usage' | 'Held' | 'Cancelled' | 'Interrupted';

/** An error that a verb has put into words. */
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
