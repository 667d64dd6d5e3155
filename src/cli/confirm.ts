import { createInterface } from 'node:readline/promises';
import { cleanLine } from './clean-text.js';
import { CliError } from './errors.js';

/**
 * Asks for confirmation on a terminal.
 * @throws CliError Usage without a terminal and without --yes, Refused for any other answer than yes.
 */
export async function confirm(
  question: string,
  { yes = false, json = false }: { readonly yes?: boolean; readonly json?: boolean },
): Promise<void> {
  if (yes) return;
  const { stdin, stderr } = process;
  if (!stdin.isTTY || !stderr.isTTY || json)
    throw new CliError('Usage', `${cleanLine(question)} There is no terminal to ask on: give --yes.`);
  const terminal = createInterface({ input: stdin, output: stderr });
  const closed = new AbortController();
  // Ctrl-C and Ctrl-D leave the question open, and are no yes.
  terminal.once('close', () => closed.abort());
  const answer = await terminal
    .question(`${cleanLine(question)} [y/N] `, { signal: closed.signal })
    .catch(() => '');
  terminal.close();
  if (/^y(es)?$/i.test(answer.trim())) return;
  throw new CliError('Refused', 'nothing was changed');
}
