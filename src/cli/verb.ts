import type { ServerOptions } from './configuration.js';
import { exitCodes } from './errors.js';
import type { Output } from './output.js';
import { requireWorker, withSession, type Session } from './session.js';

/** How a verb shows its answer. */
export interface Shown<Args extends unknown[], Answer> {
  /** Fails at once when no worker polls. */
  readonly worker?: true;
  /** The JSON document; the answer by default. */
  readonly document?: (answer: Answer, ...wordsAndOptions: Args) => unknown;
  /** A table for people, or the lines of `empty` in place of a table without rows. */
  readonly table?: {
    readonly head: readonly string[];
    readonly rows: (answer: Answer) => readonly (readonly string[])[];
    readonly empty: string;
  };
  /** What people see, below the table if there is one. */
  readonly print?: (output: Output, answer: Answer, ...wordsAndOptions: Args) => void;
  /** 0 by default. */
  readonly exitCode?: (answer: Answer) => number;
}

/** A verb that asks the server once, and shows the answer as JSON or for people. */
export function verb<Args extends unknown[], Answer>(
  ask: (session: Session, ...wordsAndOptions: Args) => Promise<Answer>,
  { worker, document, table, print, exitCode }: Shown<Args, Answer>,
): (...wordsAndOptions: Args) => Promise<number> {
  return (...args) =>
    withSession(args.at(-1) as ServerOptions, async (session) => {
      if (worker === true) await requireWorker(session);
      const answer = await ask(session, ...args);
      const { output } = session;
      output.document(document === undefined ? answer : document(answer, ...args));
      if (table !== undefined) {
        const rows = table.rows(answer);
        if (rows.length === 0) output.lines(table.empty);
        else output.table(table.head, rows);
      }
      print?.(output, answer, ...args);
      return exitCode?.(answer) ?? exitCodes.ok;
    });
}

/** Names the entities whose workflow does not answer. */
export function noteSilent(output: Output, noun: string, silent: readonly string[]): void {
  for (const name of silent) output.note(`${noun} ${name} does not answer`);
}
