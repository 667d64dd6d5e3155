import { PluginError } from '../plugins/errors.js';
import type { Connection } from './connection.js';
import { printable } from './printable.js';
import { needsSudo } from './remote-command.js';
import { describeTarget } from './target.js';

interface Silence {
  readonly sudo: boolean | undefined;
  readonly exitCode: number;
  /** What came instead of the program's output. */
  readonly said: string;
  readonly cause?: unknown;
}

/** A program of Heddle did not begin on a node: sudo refused, or the login shell cannot run it. */
export function notBegun(
  { target }: Pick<Connection, 'target'>,
  { sudo, exitCode, said, cause }: Silence,
): PluginError {
  const where = describeTarget(target);
  const words = printable(said).trim().slice(-500);
  const code = `exit code ${exitCode}`;
  return needsSudo(target, sudo)
    ? new PluginError(
        'Auth',
        `sudo -n does not let ${where} become root (${words || code}); allow it without a password, or log in as root`,
        { cause },
      )
    : new PluginError(
        'Invalid',
        `the login shell of ${where} does not run commands (${words === '' ? code : `${code}: ${words}`})`,
        { cause },
      );
}
