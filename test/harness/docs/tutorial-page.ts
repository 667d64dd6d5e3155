/** What a reader does, or a test for the reader, with the line of the page that says it. */
export type Step = { readonly line: number } & (
  | { readonly kind: 'file'; readonly path: string; readonly text: string }
  | {
      /** `interrupt` is Ctrl-C, `look` a later look at a terminal, `needs` a command that fails where a test must skip. */
      readonly kind: 'command' | 'interrupt' | 'look' | 'run' | 'needs';
      /** Empty for the terminal in which each command ends before the next step. */
      readonly terminal: string;
      readonly text: string;
      readonly exitCode: number;
      /** The output in the page. */
      readonly shown: readonly string[];
    }
);

/**
 * The steps of a page:
 *
 * - A block with `title="NAME"` is a file.
 * - In a block `console`, `$ ` begins a command, which goes on after a backslash at the end of a line. The other
 *   lines are its output. It exits with 0, or as its comment `# exits with N` says.
 * - A block `console title="NAME"` is another terminal. Its command runs until `^C`, and the next step follows when
 *   it has printed what is shown. Without a command it shows what the terminal has printed since.
 * - `<!-- run: COMMAND -->` and `<!-- needs: COMMAND -->` are not for readers.
 * - A block `text` is not a step. Other blocks are refused.
 */
export function readSteps(page: string): readonly Step[] {
  const lines = page.split('\n');
  const steps: Step[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const [, kind, text = ''] = /^<!-- (run|needs): (.+) -->$/.exec(lines[at] ?? '') ?? [];
    if (kind === 'run' || kind === 'needs')
      steps.push({ kind, text, terminal: '', exitCode: 0, shown: ['…'], line: at + 1 });
    const [fence, indent = '', language, title] =
      /^( *)```(\w*)(?: title="([^"]+)")?$/.exec(lines[at] ?? '') ?? [];
    if (fence === undefined) continue;
    const end = lines.indexOf(`${indent}\`\`\``, at + 1);
    if (end === -1) throw new Error(`line ${at + 1}: this block has no end`);
    const block = lines.slice(at + 1, end).map((line) => line.slice(indent.length));
    if (language === 'console') steps.push(...readConsole(block, at + 2, title ?? ''));
    else if (title !== undefined)
      steps.push({ kind: 'file', path: title, text: `${block.join('\n')}\n`, line: at + 1 });
    else if (language !== 'text')
      throw new Error(`line ${at + 1}: this block is neither a file nor a command`);
    at = end;
  }
  if (!steps.some(({ kind }) => kind === 'command')) throw new Error('the page has no command');
  return steps;
}

function readConsole(block: readonly string[], firstLine: number, terminal: string): readonly Step[] {
  const starts = block.flatMap((line, at) => (/^(?:\$ |\^C)/.test(line) ? [at] : []));
  const terminalStep = { terminal, exitCode: 0, line: firstLine };
  if (starts[0] === undefined) return [{ ...terminalStep, kind: 'look', text: 'Later', shown: block }];
  if (starts[0] > 0) throw new Error(`line ${firstLine}: this is the output of no command`);
  return starts.map((start, index): Step => {
    const lines = block.slice(start, starts[index + 1]);
    const line = firstLine + start;
    if (lines[0] === '^C')
      return { ...terminalStep, kind: 'interrupt', text: 'Ctrl-C', shown: lines.slice(1), line };
    const typed = lines.findIndex((one) => !one.endsWith('\\')) + 1;
    const text = lines.slice(0, typed).join('\n').slice(2);
    const exitCode = Number(/# exits with (\d+)$/.exec(text)?.[1] ?? 0);
    return { ...terminalStep, kind: 'command', text, exitCode, shown: lines.slice(typed), line };
  });
}

/**
 * What output that is shown in a page stands for. `…` is any text, and any number of lines if it stands alone. Durations,
 * numbers of three or more digits, and numbers joined by `.`, `:`, `/` or `-` (times, addresses, versions) stand for any
 * other of their kind; runs of blanks and of hyphens for any longer or shorter one. All else is as it is.
 */
export function patternOf(shown: readonly string[]): string {
  return shown
    .map((line) => (line.trim() === '…' ? String.raw`(?:.*\n)*?` : `${patternOfLine(line)}[ \\t]*\\n`))
    .join('');
}

const duration = String.raw`\d+(?:\.\d+)? (?:ms|s|m|h|d)\b(?: \d+ [sm]\b)?`;
const wild: readonly (readonly [RegExp, string])[] = [
  [/^…$/, '.*'],
  [new RegExp(`^${duration}$`), duration],
  [/^\d/, String.raw`\d[\d.:/-]*`],
  [/^ +$/, ' +'],
  [/^-+$/, '-+'],
];

function patternOfLine(line: string): string {
  const parts = line
    .trimEnd()
    .split(new RegExp(String.raw`(…|\b${duration}|\b\d+(?:[.:/-]\d+)+|\b\d{3,}\b| +|-{3,})`));
  return parts
    .map((part, at) =>
      at % 2 === 0
        ? part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
        : (wild.find(([form]) => form.test(part))?.[1] ?? part),
    )
    .join('');
}
