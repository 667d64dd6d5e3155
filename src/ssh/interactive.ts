import type { Readable, Writable } from 'node:stream';
import type { Connection } from './connection.js';
import { quoteWords } from './quote.js';
import { discard, exitOf } from './session.js';

export interface TerminalOptions {
  /** Ask for a terminal on the node. */
  readonly pty?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  /** The value of TERM on the node. Default: xterm-256color. */
  readonly term?: string;
}

/** A session for a person; nothing of it survives the connection. */
export interface InteractiveSession {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Stays empty with a terminal. */
  readonly stderr: Readable;
  /** The exit code, undefined when the session was cut or ended by a signal. */
  readonly exit: Promise<number | undefined>;
  readonly resize: (columns: number, rows: number) => void;
  readonly close: () => void;
}

/** Opens the login shell, or runs one command in its stead. */
export async function openShell(
  connection: Connection,
  command?: readonly string[],
  options: TerminalOptions = {},
): Promise<InteractiveSession> {
  const terminal =
    options.pty === true
      ? { cols: options.columns ?? 80, rows: options.rows ?? 24, term: options.term ?? 'xterm-256color' }
      : false;
  const channel =
    command === undefined
      ? await connection.shell(terminal)
      : await connection.exec(quoteWords(command), terminal === false ? {} : { pty: terminal });
  return {
    stdin: channel,
    stdout: channel,
    stderr: channel.stderr,
    exit: exitOf(channel),
    resize: (columns, rows) => channel.setWindow(rows, columns, 0, 0),
    close: () => discard(channel),
  };
}
