import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { cleanLine } from './clean-text.js';
import { CliError } from './errors.js';

export interface Confirmation {
  /** Given in advance by --yes. */
  readonly yes?: boolean;
  readonly json?: boolean;
}

/**
 * Asks for confirmation on a terminal.
 * @throws CliError Usage without a terminal and without --yes, Refused for any answer except yes.
 */
export async function confirm(question: string, { yes = false, json = false }: Confirmation): Promise<void> {
  if (yes) return;
  const terminal = json ? undefined : openTerminal();
  if (terminal === undefined)
    throw new CliError(
      'Usage',
      `${cleanLine(question)} This needs a terminal to confirm: without one, pass --yes.`,
    );
  // Ctrl-C and Ctrl-D count as no.
  const answer = await terminal.ask(`${cleanLine(question)} [y/N] `).catch(() => '');
  terminal.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new CliError('Refused', 'nothing was changed');
}

/** A terminal for questions. */
export interface Terminal {
  /** For people; never on standard output. */
  say(text: string): void;
  /** One line as it was typed. @throws CliError Interrupted by Ctrl-C, Ctrl-D or a closed terminal. */
  ask(prompt: string): Promise<string>;
  /** The same, without showing what is typed. */
  askMasked(prompt: string): Promise<string>;
  close(): void;
}

/** Whether a person can be asked. */
export function hasTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY;
}

/** Undefined without a terminal. */
export function openTerminal(): Terminal | undefined {
  const { stdin, stderr } = process;
  if (!hasTerminal()) return undefined;
  let masked = false;
  const echo = new Writable({
    write(chunk: Buffer, _encoding, done) {
      if (!masked) stderr.write(chunk);
      done();
    },
  });
  // With a history, the arrow keys would show secrets that were typed before.
  const lines = createInterface({ input: stdin, output: echo, terminal: true, historySize: 0 });
  const closed = new AbortController();
  lines.once('SIGINT', () => lines.close()).once('close', () => closed.abort());
  const ask = async (prompt: string): Promise<string> => {
    try {
      return await lines.question(prompt, { signal: closed.signal });
    } catch (cause) {
      stderr.write('\n');
      throw new CliError('Interrupted', 'stopped; nothing was changed', { cause });
    }
  };
  return {
    say: (text) => void stderr.write(`${text}\n`),
    ask,
    async askMasked(prompt) {
      stderr.write(prompt);
      masked = true;
      try {
        return await ask('');
      } finally {
        masked = false;
        if (!closed.signal.aborted) stderr.write('\n');
      }
    },
    close: () => lines.close(),
  };
}
