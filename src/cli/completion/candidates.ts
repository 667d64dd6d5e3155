import type { Argument, Command, Option } from 'commander';

/** What the shell offers for the word at the cursor. */
export type Candidates =
  | { readonly is: 'words'; readonly words: readonly string[] }
  | { readonly is: 'files' }
  /** Names that the server knows. */
  | { readonly is: 'names'; readonly of: NameKind; readonly within?: string };

type NameKind = 'clusters' | 'nodes' | 'services' | 'pools' | 'labels' | 'machines' | 'images';

const files: Candidates = { is: 'files' };
const words = (list: readonly string[]): Candidates => ({ is: 'words', words: list });

/** What may follow the words before the cursor; `current` is the word at it, perhaps empty. */
export function candidatesFor(program: Command, before: readonly string[], current: string): Candidates {
  const { command, values, open } = follow(program, before);
  const [cluster] = values;
  if (open !== undefined) return valuesOf(open, cluster);
  const equals = current.startsWith('--') ? current.indexOf('=') : -1;
  const named = equals < 0 ? undefined : findOption(command, current.slice(0, equals));
  if (named !== undefined) return valuesOf(named, cluster);
  if (current.startsWith('-')) return words(flagsOf(command));
  if (command.commands.length > 0 && values.length === 0)
    return words(command.commands.filter((inner) => !isHidden(inner)).map((inner) => inner.name()));
  return argumentOf(command, values);
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

function valuesOf({ argChoices, long, description }: Option, cluster: string | undefined): Candidates {
  if (argChoices !== undefined) return words(argChoices);
  if (long === '--pool') return { is: 'names', of: 'pools' };
  if (long === '--nodes') return { is: 'names', of: 'nodes', within: cluster };
  if (long === '--service' || long === '--services') return { is: 'names', of: 'services', within: cluster };
  return /file|folder|public key/i.test(description) || long === '--config' ? files : words([]);
}

function argumentOf(command: Command, values: readonly string[]): Candidates {
  const declared = command.registeredArguments;
  const last = declared.at(-1);
  const argument = declared[values.length] ?? (last?.variadic === true ? last : undefined);
  return argument === undefined ? words([]) : namesOf(argument, command, values[0]);
}

/** `<name>` is what the command is about; the group of commands says what that is. */
function namesOf(argument: Argument, command: Command, first: string | undefined): Candidates {
  if (argument.argChoices !== undefined) return words(argument.argChoices);
  const group = command.parent?.parent === null ? '' : (command.parent?.name() ?? '');
  switch (argument.name()) {
    case 'name':
      return subjects[group] === undefined ? words([]) : { is: 'names', of: subjects[group] };
    case 'pool':
      return { is: 'names', of: 'pools' };
    case 'label':
      return { is: 'names', of: 'labels' };
    case 'labels':
      return { is: 'names', of: 'labels', within: first };
    case 'node':
    case 'nodes':
      return group === '' ? { is: 'names', of: 'nodes', within: first } : words([]);
    case 'services':
      return { is: 'names', of: 'services', within: first };
    case 'file':
    case 'files':
    case 'path':
    case 'task.json':
      return files;
    default:
      return words([]);
  }
}

const subjects: Readonly<Record<string, NameKind>> = {
  '': 'clusters',
  task: 'clusters',
  machine: 'machines',
  image: 'images',
};

function isHidden(command: Command): boolean {
  return command.name().startsWith('__');
}
