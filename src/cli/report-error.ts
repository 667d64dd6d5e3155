import { HeddleError, type HeddleErrorCode } from '../client/errors.js';
import type { ErrorReport } from '../schema/output/documents.js';
import { cleanText } from './clean-text.js';
import { CliError, type CliErrorCode, exitCodes } from './errors.js';
import type { KeyError } from '../secrets/key-document.js';
import type { ServerUnreachableError } from '../server/check.js';
import { createOutput } from './output.js';

const exits: Readonly<Record<CliErrorCode, number>> = {
  Usage: exitCodes.usage,
  Invalid: exitCodes.usage,
  Refused: exitCodes.refused,
  NotFound: exitCodes.notFound,
  NoServer: exitCodes.unavailable,
  NoWorker: exitCodes.unavailable,
  Encryption: exitCodes.failed,
  Failed: exitCodes.failed,
  Held: exitCodes.failed,
  Cancelled: exitCodes.failed,
  Interrupted: exitCodes.interrupted,
};

/** For errors without a hint of their own; NotFound then means a cluster. */
const nextCommands: Readonly<Partial<Record<HeddleErrorCode, string>>> = {
  NoServer: 'heddle dev',
  NoWorker: 'heddle worker',
  NotFound: 'heddle list',
  Encryption: 'heddle doctor',
};

/** Writes an error for people or as JSON; returns the exit code. */
export function reportError(error: unknown, options: { readonly json: boolean }): number {
  const report = describeError(error);
  const output = createOutput(options);
  if (options.json) output.document({ error: report });
  else {
    output.note(`${report.code === 'Interrupted' ? '' : 'error: '}${cleanText(report.message)}`);
    if (report.next !== undefined) output.note(`next: ${report.next}`);
  }
  return exitCodeOf(report.code);
}

export function exitCodeOf(code: CliErrorCode): number {
  return exits[code];
}

/** The message that people see. */
export function messageOf(error: unknown): string {
  return describeError(error).message;
}

export function describeError(error: unknown): ErrorReport {
  if (error instanceof CliError) return withNext(error.code, error.message, error.next);
  if (error instanceof HeddleError)
    return withNext(error.code, error.message, error.next ?? nextCommands[error.code]);
  if (!(error instanceof Error)) return { code: 'Failed', message: String(error) };
  switch (error.name) {
    // By name: these modules are loaded by the verbs that need them.
    case 'ProblemsError':
      return { code: 'Invalid', message: error.message };
    case 'KeyError':
      return (error as KeyError).invalid
        ? withNext('Invalid', error.message, 'heddle keys --help')
        : withNext('Encryption', error.message, nextCommands.Encryption);
    case 'ServerUnreachableError':
      return withNext('NoServer', error.message, (error as ServerUnreachableError).next);
    default:
      return { code: 'Failed', message: messageWithCauses(error) };
  }
}

function withNext(code: CliErrorCode, message: string, next: string | undefined): ErrorReport {
  return { code, message, next };
}

/** An unexpected error: only its causes can explain it. */
function messageWithCauses(error: Error): string {
  const messages = [error.message || error.name];
  for (let cause = error.cause; cause instanceof Error && messages.length < 5; cause = cause.cause) {
    if (!messages.some((message) => message.includes((cause as Error).message))) messages.push(cause.message);
  }
  return messages.join(': ');
}
