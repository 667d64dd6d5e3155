import { quoteWord } from './quote.js';

/**
 * For a program with input: a command for the login shell that reads a line, the program, and that line again
 * from standard input. It runs the program only if the last line arrived, so a connection cut in the middle
 * starts nothing; the rest of the input is the program's. No argument contains our data, since `ps` would show
 * it. The text has no line break, quote, backslash outside a string or exclamation mark, so it means the same
 * to sh, bash, zsh, dash, busybox, csh and fish.
 */
const readProgram =
  'n=$(printf "\\n."); n=${n%.}; p=; IFS= read -r e; while IFS= read -r l; do case $l in "$e") eval "$p"; exit;; esac; p="$p$l$n"; done; exit 70';

const turnFolders = ['', '/runs', '/runs/.turns'].map((end) => `"$HOME/.heddle${end}"`).join(' ');

export interface RemoteCommandOptions {
  readonly sudo?: boolean | undefined;
  /** Data follows the program on standard input. */
  readonly hasInput?: boolean;
}

/**
 * The command for the login shell that runs a program from standard input. Without input after it, the shell
 * reads the program itself, in blocks if it can.
 */
export function remoteCommand({ sudo, hasInput = false }: RemoteCommandOptions = {}): string {
  const shell = hasInput ? `sh -c '${readProgram}' heddle` : 'sh -s';
  if (sudo !== true) return `exec ${shell}`;
  // -H: the root's own home, so that both attempts of a run look into the same folder. The login's is told:
  // there root's scripts and its own take turns, in a folder that the login makes while it is still itself.
  return `mkdir -m 700 -p ${turnFolders}; exec sudo -n -H ${shell} "$HOME"`;
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
export function programText({ program, nonce, variables = {}, prelude = '' }: ProgramText): string {
  const settings = Object.entries({ nonce, ...variables })
    .map(([name, value]) => `${name}=${quoteWord(String(value))}\n`)
    .join('');
  return `${settings}heddle_program() {\n${prelude}${compact(program)}\n}\n{ heddle_program "$@"; exit; }\n`;
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
