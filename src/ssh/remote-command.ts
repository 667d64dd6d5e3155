import type { SshTarget } from './target.js';
import { quoteWord } from './quote.js';

/**
 * For a program with input: a command for the login shell that reads a line, the program, and that line again
 * from standard input. It runs the program only if the last line arrived, so a connection cut in the middle
 * starts nothing; the rest of the input is the program's. No argument contains our data, since `ps` would
 * show it. The text has no line break, quote, backslash outside a string or exclamation mark, so it means the
 * same to sh, bash, zsh, dash, busybox, csh and fish.
 */
const readProgram =
  'n=$(printf "\\n."); n=${n%.}; p=; IFS= read -r e; while IFS= read -r l; do case $l in "$e") eval "$p"; exit;; esac; p="$p$l$n"; done; exit 70';

/**
 * A shell that reads program after program, in a session of its own, so that nothing which ends the login
 * reaches it. Servers close the channel when their own child ends, so that one waits; the shell is told its
 * process.
 */
const detachedShell =
  'exec 5<&0; if command -v setsid >/dev/null; then setsid sh -s $$ "$@" <&5 5<&- & else sh -s $$ "$@" <&5 5<&- & fi; exec 5<&- </dev/null >/dev/null; wait $! ; exit $?';

const fenceFolders = ['', '/runs', '/runs/.fences'].map((end) => `"$HOME/.heddle${end}"`).join(' ');

export interface RemoteCommandOptions {
  readonly sudo?: boolean | undefined;
  /**
   * `program`: one program; `programAndInput`: a program and its data; `programs`: one after the other, by a
   * shell that outlives the connection until the present one has ended.
   */
  readonly input?: 'program' | 'programAndInput' | 'programs';
}

const shells = {
  // The shell reads the program itself, in blocks if it can.
  program: 'sh -s',
  programAndInput: `sh -c '${readProgram}' heddle`,
  programs: `sh -c '${detachedShell}' heddle`,
} as const;

/** Who is root already needs no sudo, which many images do not have. */
export function needsSudo({ user }: Pick<SshTarget, 'user'>, sudo: boolean | undefined): boolean {
  return sudo === true && user !== 'root';
}

/** The command for the login shell of a target that runs programs from standard input. */
export function remoteCommand(
  target: Pick<SshTarget, 'user'>,
  { sudo, input = 'program' }: RemoteCommandOptions = {},
): string {
  const shell = shells[input];
  if (!needsSudo(target, sudo)) return `exec ${shell}`;
  // -H: the root's own home, so that both attempts of a run look into the same folder. The login's is told:
  // the fence there covers root's scripts and those of the login, in a folder that the login makes before
  // sudo.
  return `mkdir -m 700 -p ${fenceFolders}; exec sudo -n -H ${shell} "$HOME"`;
}

export interface ProgramText {
  readonly program: string;
  /** Known to no author of the content. */
  readonly nonce: string;
  /** Shell variables that are set first. */
  readonly variables?: Readonly<Record<string, string | number>> | undefined;
  /** Shell text that is inserted before the program as it is. */
  readonly prelude?: string | undefined;
}

/**
 * The program as {@link remoteCommand} reads it. It takes effect only when all of it has arrived: the shell
 * parses a function to its end before it calls it.
 */
export function programText(text: ProgramText): string {
  return `${functionText(text)}{ heddle_program "$@"; exit; }\n`;
}

/** The first program of a shell that goes on to read others. */
export function firstProgramText(text: ProgramText): string {
  return `${functionText(text)}heddle_program "$@"\n`;
}

function functionText({ program, nonce, variables = {}, prelude = '' }: ProgramText): string {
  return `${settingsText({ nonce, ...variables })}heddle_program() {\n${prelude}${compact(program)}\n}\n`;
}

/** Shell text that sets variables. */
export function settingsText(variables: Readonly<Record<string, string | number>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${quoteWord(String(value))}\n`)
    .join('');
}

/** The same for a program with input: between two lines that no content contains. */
export function programTextBeforeInput(text: ProgramText): string {
  return `#${text.nonce}\n${programText(text)}#${text.nonce}\n`;
}

const compacted = new Map<string, string>();

/** Some shells read their program byte by byte: comments and indentation stay here. */
export function compact(program: string): string {
  const known = compacted.get(program);
  if (known !== undefined) return known;
  const lines = program
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .join('\n');
  compacted.set(program, lines);
  return lines;
}
