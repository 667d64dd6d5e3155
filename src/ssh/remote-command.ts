import { quoteWord } from './quote.js';

/**
 * The command for the login shell. It reads a program from standard input: a line, the program, and that line
 * again. It runs the program only if the last line arrived, so a connection cut in the middle starts nothing;
 * the rest of the input is the program's. No argument contains our data, since `ps` would show it. The text
 * has no line break, quote, backslash outside a string or exclamation mark, so it means the same to sh, bash,
 * zsh, dash, busybox, csh and fish.
 */
const bootstrap =
  'n=$(printf "\\n."); n=${n%.}; p=; IFS= read -r e; while IFS= read -r l; do case $l in "$e") eval "$p"; exit;; esac; p="$p$l$n"; done; exit 70';

const turnFolders = ['', '/runs', '/runs/.turns'].map((end) => `"$HOME/.heddle${end}"`).join(' ');

export function remoteCommand(options: { readonly sudo?: boolean | undefined } = {}): string {
  if (options.sudo !== true) return `exec sh -c '${bootstrap}'`;
  // -H: the root's own home, so that both attempts of a run look into the same folder. The login's is told:
  // there root's scripts and its own take turns, in a folder that the login makes while it is still itself.
  return `mkdir -m 700 -p ${turnFolders}; exec sudo -n -H sh -c '${bootstrap}' heddle "$HOME"`;
}

/**
 * The program as {@link remoteCommand} reads it, with shell variables set first, then `prelude`, shell text
 * that is taken as it is. The nonce is the line around it, which no author of its content can have known.
 */
export function programText(
  program: string,
  nonce: string,
  variables: Readonly<Record<string, string | number>> = {},
  prelude = '',
): string {
  const settings = Object.entries({ nonce, ...variables })
    .map(([name, value]) => `${name}=${quoteWord(String(value))}\n`)
    .join('');
  return `#${nonce}\n${settings}${prelude}${compact(program)}\n#${nonce}\n`;
}

/** The shell reads its program byte by byte: comments and indentation stay here. */
export function compact(program: string): string {
  return program
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .join('\n');
}
