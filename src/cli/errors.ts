import type { ErrorReport } from '../schema/output/documents.js';

/** What `heddle` ends with. Other interrupts have codes of their own: `interrupts.ts`. */
export const exitCodes = {
  ok: 0,
  /** With `plan --detailed-exitcode` any error. */
  failed: 1,
  /** Nothing was changed. With `plan --detailed-exitcode`: there are changes. */
  usage: 2,
  refused: 3,
  notFound: 4,
  unavailable: 5,
  interrupted: 130,
} as const;

/** What `heddle --help` says about each; docs/reference/exit-codes.md says more. */
export const exitCodeMeanings: Readonly<Record<keyof typeof exitCodes, string>> = {
  ok: 'ok',
  failed: 'failed or held',
  usage: 'wrong usage or invalid input',
  refused: 'refused',
  notFound: 'not found',
  unavailable: 'no server or no worker',
  interrupted: 'interrupted',
};

/** The client's codes, and those of the command line itself. */
export type CliErrorCode = ErrorReport['code'];

/** What a command ends with after an error. */
export const exitsOfErrors: Readonly<Record<CliErrorCode, keyof typeof exitCodes>> = {
  NoServer: 'unavailable',
  NoWorker: 'unavailable',
  NotFound: 'notFound',
  Refused: 'refused',
  Held: 'failed',
  Failed: 'failed',
  Cancelled: 'failed',
  Encryption: 'failed',
  Invalid: 'usage',
  Usage: 'usage',
  Interrupted: 'interrupted',
};

export function exitCodeOf(code: CliErrorCode): number {
  return exitCodes[exitsOfErrors[code]];
}

/** An error with a message for people. */
export class CliError extends Error {
  readonly code: CliErrorCode;
  /** The command that helps. */
  readonly next: string | undefined;
  /** What a person must do before it. */
  readonly remedy: string | undefined;

  constructor(
    code: CliErrorCode,
    message: string,
    options: { readonly next?: string; readonly remedy?: string | undefined; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CliError';
    this.code = code;
    this.next = options.next;
    this.remedy = options.remedy;
  }
}
