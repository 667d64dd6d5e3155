import type { Argument, Command, Option } from 'commander';

/** What the shell offers for the word at the cursor. */
export type Candidates =
  | { readonly is: 'words'; readonly words: readonly string[] }
  | { readonly is: 'files' }
  /** Names that Heddle knows; `within` is the cluster or the pool that the command names first. */
  | { readonly is: 'names'; readonly of: NameKind; readonly within?: string };

type NameKind =
  | 'accounts'
  | 'clusters'
  | 'images'
  | 'labels'
  | 'machines'
  | 'nodes'
  | 'pool nodes'
  | 'pools'
  | 'reservations'
  | 'resources'
  | 'services';

/**
 * What completes a value. The declaration of an argument or an option names the kind of its value in brackets:
 * `<file>`, `[pool]`, `<nodes...>`. Kinds that are absent here are free text.
 */
export const completions: Readonly<Record<string, NameKind | 'files'>> = {
  account: 'accounts',
  cluster: 'clusters',
  file: 'files',
  files: 'files',
  folder: 'files',
  image: 'images',
  label: 'labels',
  labels: 'labels',
  machine: 'machines',
  machines: 'machines',
  node: 'nodes',
  nodes: 'nodes',
  path: 'files',
  pool: 'pools',
  reservation: 'reservations',
  resource: 'resources',
  service: 'services',
  services: 'services',
  workflow: 'clusters',
};

const words = (list: readonly string[]): Candidates => ({ is: 'words', words: list });

/** What may follow the words before the cursor; `current` is the word at it, perhaps empty. */
export function candidatesFor(program: Command, before: readonly string[], current: string): Candidates {
  const { command, values, open } = follow(program, before);
  const equals = current.startsWith('--') ? current.indexOf('=') : -1;
  const option = open ?? (equals < 0 ? undefined : findOption(command, current.slice(0, equals)));
  if (option !== undefined) return valuesOf(option, command, values);
  if (current.startsWith('-')) return words(flagsOf(command));
  if (command.commands.length > 0 && values.length === 0)
    return words(command.commands.filter((inner) => !isHidden(inner)).map((inner) => inner.name()));
  const argument = argumentAt(command, values.length);
  return argument === undefined ? words([]) : valuesOf(argument, command, values);
}

/** The kind of value that an argument or an option takes: `file` of `--config <file>`; undefined for a flag. */
export function valueKind(one: Argument | Option): string | undefined {
  return 'flags' in one ? /[<[](.+?)(?:\.{3})?[>\]]$/.exec(one.flags)?.[1] : one.name();
}

/** The command that the words select, its arguments so far, and an option that waits for its value. */
function follow(
  program: Command,
  before: readonly string[],
): { readonly command: Command; readonly values: readonly string[]; readonly open?: Option } {
  let command = program;
  let open: Option | undefined;
  const values: string[] = [];
  for (const word of before) {
    const isValue = open !== undefined;
    open = undefined;
    if (isValue) continue;
    if (word.startsWith('-')) {
      const option = findOption(command, word);
      open = option?.required === true || option?.optional === true ? option : undefined;
      continue;
    }
    const inner = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (inner !== undefined && values.length === 0) command = inner;
    else values.push(word);
  }
  return { command, values, open };
}

function findOption(command: Command, flag: string): Option | undefined {
  const own = command.options.find(({ long, short }) => long === flag || short === flag);
  return own ?? (command.parent === null ? undefined : findOption(command.parent, flag));
}

function flagsOf(command: Command): readonly string[] {
  const own = command.options.filter(({ hidden }) => !hidden).flatMap(({ long }) => long ?? []);
  return [...own, '--help'];
}

function argumentAt({ registeredArguments: declared }: Command, index: number): Argument | undefined {
  const last = declared.at(-1);
  return declared[index] ?? (last?.variadic === true ? last : undefined);
}

function valuesOf(one: Argument | Option, command: Command, [first]: readonly string[]): Candidates {
  if (one.argChoices !== undefined) return words(one.argChoices);
  const of = completions[valueKind(one) ?? ''];
  if (of === undefined) return words([]);
  if (of === 'files') return { is: 'files' };
  const scope = command.registeredArguments[0]?.name();
  return {
    is: 'names',
    of: of === 'nodes' && scope === 'pool' ? 'pool nodes' : of,
    within: scope === 'cluster' || scope === 'pool' ? first : undefined,
  };
}

function isHidden(command: Command): boolean {
  return command.name().startsWith('__');
}
