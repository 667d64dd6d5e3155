import { existsSync } from 'node:fs';

/** How a program is started on a machine. */
export interface Launcher {
  /** The prefix of a command: nothing on a directory, nsenter and its options for a sandbox. */
  readonly prefix: readonly string[];
  readonly cwd: string;
  /** Must hold HOME and SHELL. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface Terminal {
  readonly name: string;
  readonly columns: number;
  readonly rows: number;
}

export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** How many wrapper processes precede the command; signals do not go to them. */
  readonly wrappers: number;
}

const loginShell = 'exec "$SHELL" -l';
const script = '/usr/bin/script';

// Reports its terminal on descriptor 3, so that the window's size can be set later. `script` turns the
// echo off where its own input is not a terminal; that is undone.
const inTerminal = `tty >&3; exec 3>&-; stty rows "$HEDDLE_ROWS" cols "$HEDDLE_COLUMNS" echo
text=$HEDDLE_COMMAND; unset HEDDLE_ROWS HEDDLE_COLUMNS HEDDLE_COMMAND; cd; eval "$text"`;

/** Terminals need util-linux's `script`: BSD's takes other options. */
export function canMakeTerminals(): boolean {
  return process.platform === 'linux' && existsSync(script);
}

/** How to start a command, or without one a login shell, on a machine, with or without a terminal. */
export function planLaunch(
  launcher: Launcher,
  command: string | undefined,
  terminal: Terminal | undefined,
): Launch {
  const text = command ?? loginShell;
  const wrappers = launcher.prefix.length > 0 ? 1 : 0;
  if (terminal === undefined) {
    const [program, ...args] = [
      ...launcher.prefix,
      '/bin/sh',
      '-c',
      'cd && exec /bin/sh -c "$1"',
      'sh',
      text,
    ];
    return { program, args, environment: launcher.environment, wrappers };
  }
  const [program, ...args] = [...launcher.prefix, script, '-qfec', inTerminal, '/dev/null'];
  const environment = {
    ...launcher.environment,
    TERM: terminal.name,
    HEDDLE_COMMAND: text,
    HEDDLE_ROWS: String(terminal.rows),
    HEDDLE_COLUMNS: String(terminal.columns),
  };
  return { program, args, environment, wrappers: wrappers + 1 };
}
