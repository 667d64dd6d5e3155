import type { ServerOptions } from './configuration.js';
import { type CliError, exitCodeOf, exitCodes } from './errors.js';
import type { HeddleError } from '../client/errors.js';
import { createOutput, type Output, type OutputOptions } from './output.js';
import { describeError } from './report-error.js';
import type { Session } from './session.js';

/** How a verb shows its answer. */
export interface Shown<Args extends unknown[], Answer extends object | undefined> {
  /** Fails at once when no worker polls. */
  readonly worker?: true;
  /** The JSON document; the answer by default. Undefined where `ask` writes records instead. */
  readonly document?: (answer: Answer, ...wordsAndOptions: Args) => object | undefined;
  /** A table for people; without rows, the lines of `empty` if given. */
  readonly table?: {
    readonly head: readonly string[];
    readonly rows: (answer: Answer) => readonly (readonly string[])[];
    readonly empty?: string;
  };
  /** What people see, below the table if there is one. */
  readonly print?: (output: Output, answer: Answer, ...wordsAndOptions: Args) => void;
  /** An error that the answer amounts to. People see it last; the JSON document has it beside the rest. */
  readonly error?: (answer: Answer) => CliError | HeddleError | undefined;
  /** 0 by default; an error has its own. */
  readonly exitCode?: (answer: Answer) => number;
}

/** Declares a verb that asks the server once and shows the answer as JSON or for people. */
export function verb<Args extends unknown[], Answer extends object | undefined>(
  ask: (session: Session, ...wordsAndOptions: Args) => Promise<Answer>,
  shown: Shown<Args, Answer>,
): (...wordsAndOptions: Args) => Promise<number> {
  return async (...args) => {
    const { requireWorker, withSession } = await import('./session.js');
    return withSession(args.at(-1) as ServerOptions, async (session) => {
      if (shown.worker === true) await requireWorker(session);
      return show(session.output, await ask(session, ...args), args, shown);
    });
  };
}

/** Declares a verb that needs no connection to a server. */
export function localVerb<Args extends unknown[], Answer extends object | undefined>(
  ask: (...wordsAndOptions: Args) => Answer | Promise<Answer>,
  shown: Omit<Shown<Args, Answer>, 'worker'>,
): (...wordsAndOptions: Args) => Promise<number> {
  return async (...args) => show(createOutput(args.at(-1) as OutputOptions), await ask(...args), args, shown);
}

/** Writes an answer; returns the exit code. @throws the error that the answer amounts to, unless in JSON. */
export function show<Args extends unknown[], Answer extends object | undefined>(
  output: Output,
  answer: Answer,
  args: Args,
  { document, table, print, error: errorOf, exitCode }: Shown<Args, Answer>,
): number {
  const error = errorOf?.(answer);
  const report = error === undefined ? undefined : describeError(error);
  const value = document === undefined ? answer : document(answer, ...args);
  if (value !== undefined) output.document(report === undefined ? value : { ...value, error: report });
  if (table !== undefined) {
    const rows = table.rows(answer);
    if (rows.length === 0 && table.empty !== undefined) output.lines(table.empty);
    else output.table(table.head, rows);
  }
  print?.(output, answer, ...args);
  if (report === undefined) return exitCode?.(answer) ?? exitCodes.ok;
  if (!output.json) throw error;
  return exitCodeOf(report.code);
}

/** Names the entities whose workflow does not answer. */
export function noteSilent(output: Output, noun: string, silent: readonly string[]): void {
  for (const name of silent) output.note(`${noun} ${name} does not answer`);
}
