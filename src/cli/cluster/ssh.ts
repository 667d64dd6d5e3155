import { connect } from '../../ssh/connect.js';
import { type InteractiveSession, openShell } from '../../ssh/interactive.js';
import type { SshTarget } from '../../ssh/target.js';
import type { ServerOptions } from '../configuration.js';
import { CliError } from '../errors.js';
import { withSession } from '../session.js';
import { findNodeTarget } from './node-target.js';

/**
 * Logs in to a node, or runs one command there; the host key must be the one that CONFIRM pinned. Returns
 * the command's exit code.
 */
export async function ssh(
  name: string,
  node: string,
  command: readonly string[],
  options: ServerOptions,
): Promise<number> {
  const target = await withSession(options, (session) => findNodeTarget(session, name, node));
  return runOn(target, node, command);
}

async function runOn(target: SshTarget, node: string, command: readonly string[]): Promise<number> {
  const { stdin, stdout } = process;
  const connection = await connect(target);
  try {
    // As ssh does: a command gets no terminal, so that its output can go through a pipe unchanged.
    const pty = command.length === 0 && stdin.isTTY && stdout.isTTY;
    const session = await openShell(
      connection,
      describeIntent(command),
      pty ? { pty, columns: stdout.columns, rows: stdout.rows } : {},
    );
    const code = await join(session, pty);
    if (code === undefined)
      throw new CliError(
        'Failed',
        `the session on ${node} was interrupted, or ended by a signal; the result of its command is unknown`,
      );
    return code;
  } finally {
    connection.close();
    await connection.closed;
  }
}

/**
 * One word with blanks is a line for the node's shell, as with ssh; several words are a program and its
 * arguments.
 */
function describeIntent(command: readonly string[]): readonly string[] | undefined {
  const [line = ''] = command;
  if (command.length === 0) return undefined;
  return command.length === 1 && /\s/.test(line) ? ['sh', '-c', line] : command;
}

/** Connects the standard streams with the node's until the session ends; returns the exit code. */
async function join(session: InteractiveSession, pty: boolean): Promise<number | undefined> {
  const { stdin, stdout, stderr } = process;
  const resize = (): void => session.resize(stdout.columns, stdout.rows);
  if (pty) {
    stdin.setRawMode(true);
    stdout.on('resize', resize);
  }
  stdin.pipe(session.stdin);
  session.stdout.pipe(stdout, { end: false });
  session.stderr.pipe(stderr, { end: false });
  // A pipe that breaks here also ends the node's side.
  session.stdin.on('error', () => undefined);
  try {
    return await session.exit;
  } finally {
    stdin.unpipe(session.stdin);
    stdin.pause();
    if (pty) {
      stdin.setRawMode(false);
      stdout.off('resize', resize);
    }
  }
}
