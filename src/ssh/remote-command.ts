import { quoteWord } from './quote.js';

/**
 * What the login shell is told to run. It reads a program from standard input up to a line `#end`, and runs it only if
 * that line arrived, so that a connection cut in the middle starts nothing; the rest of the input is the program's.
 * Nothing of ours stands in an argument, where `ps` would show it. The text has no line break, quote, backslash outside
 * a string or exclamation mark, and so means the same to sh, bash, zsh, dash, busybox, csh and fish.
 */
const bootstrap = 'n=$(printf "\\n."); n=${n%.}; p=; while IFS= read -r l; do case $l in "#end") eval "$p"; exit;; esac; p="$p$l$n"; done; exit 70';

export function remoteCommand(options: { readonly sudo?: boolean | undefined } = {}): string {
  // -H: the root's own home, so that both attempts of a run look into the same folder.
  return `exec ${options.sudo === true ? 'sudo -n -H ' : ''}sh -c '${bootstrap}'`;
}

/** The program as {@link remoteCommand} reads it, with shell variables set first. */
export function programText(program: string, variables: Readonly<Record<string, string | number>> = {}): string {
  const settings = Object.entries(variables).map(([name, value]) => `${name}=${quoteWord(String(value))}\n`).join('');
  return `${settings}${compact(program)}\n#end\n`;
}

/** The shell reads its program byte by byte: comments and indentation stay here. */
export function compact(program: string): string {
  return program.split('\n').map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#')).join('\n');
}
