import { HeddleError, type HeddleErrorCode } from '../client/errors.js';
import type { ErrorReport } from '../schema/output/documents.js';
import { isDiskFault } from '../schema/read-text.js';
import { cleanLine, cleanText } from './clean-text.js';
import { CliError, exitCodeOf, type CliErrorCode } from './errors.js';
import type { KeyError } from '../secrets/key-document.js';
import type { ServerUnreachableError } from '../server/check.js';
import { createOutput } from './output.js';

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
    output.note(`${prefixOf(report.code)}${cleanText(report.message)}`);
    const { remedy, next } = report;
    if (remedy !== undefined) output.note(`next: ${cleanLine(remedy)}`);
    if (next !== undefined) output.note(`${remedy === undefined ? 'next' : 'then'}: ${cleanText(next)}`);
  }
  return exitCodeOf(report.code);
}

/** Names the code that `heddle explain` describes; the message of wrong usage is complete. */
function prefixOf(code: CliErrorCode): string {
  if (code === 'Interrupted') return '';
  return code === 'Usage' ? 'error: ' : `error[${code}]: `;
}

/** The message that people see. */
export function messageOf(error: unknown): string {
  return describeError(error).message;
}

export function describeError(error: unknown): ErrorReport {
  const report = { ...reportOf(error), remedy: remedyOf(error) };
  // Whatever the command was writing: the user gave nothing wrong.
  return isDiskFault(error) ? { ...report, code: 'Failed' } : report;
}

/** What a person must do, by errors of any kind: those of secrets and of SSH have one as well. */
export function remedyOf(error: unknown): string | undefined {
  return error instanceof Error && 'remedy' in error && typeof error.remedy === 'string'
    ? error.remedy
    : undefined;
}

function reportOf(error: unknown): ErrorReport {
  if (error instanceof CliError) return withNext(error.code, error.message, error.next);
  if (error instanceof HeddleError)
    return withNext(error.code, error.message, error.next ?? nextCommands[error.code]);
  if (!(error instanceof Error)) return { code: 'Failed', message: String(error) };
  switch (error.name) {
    // By name: these modules are loaded by the verbs that need them.
    case 'ProblemsError':
      return { code: 'Invalid', message: error.message };
    case 'MissingKeyError':
      return withNext('Encryption', error.message, 'heddle keys import FILE');
    case 'KeyError':
      return (error as KeyError).code === 'Invalid'
        ? withNext('Invalid', error.message, isDiskFault(error) ? undefined : nextOf(error as KeyError))
        : withNext('Encryption', error.message, nextCommands.Encryption);
    case 'ServerUnreachableError':
      return withNext('NoServer', error.message, (error as ServerUnreachableError).next);
    case 'PortRefusedError':
      return withNext('Invalid', error.message, 'heddle dev --help');
    case 'DataFolderInUseError':
      return { code: 'Refused', message: error.message };
    default:
      return { code: 'Failed', message: messageWithCauses(error) };
  }
}

function nextOf({ next = 'heddle keys --help' }: KeyError): string {
  return next;
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
