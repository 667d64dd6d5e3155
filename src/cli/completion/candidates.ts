import type { Argument, Command, Option } from 'commander';
import { machineActions } from '../../model/machine/actions.js';
import { loggedActions } from '../../model/logged-actions.js';
import type { ServerOptions } from '../configuration.js';

/** What the shell offers for the word at the cursor. */
export type Candidates =
  | { readonly is: 'words'; readonly words: readonly string[] }
  | { readonly is: 'files' }
  | NameCandidates;

/** Names that Heddle knows. */
export interface NameCandidates {
  readonly is: 'names';
  readonly of: NameKind;
  /** The cluster, the pool or the file that the command names first. */
  readonly within?: string;
  /** The common options on the line. */
  readonly options: ServerOptions;
}

type NameKind =
  | 'accounts'
  | 'automators'
  | 'clusters'
  | 'codes'
  | 'images'
  | 'labels'
  | 'machines'
  | 'nodes'
  | 'outputs'
  | 'plugins'
  | 'pool nodes'
  | 'pools'
  | 'provider types'
  | 'reservations'
  | 'resources'
  | 'services'
  | 'variables';

/**
 * What completes a value. The declaration of an argument or an option names the kind of its
 * value in brackets: `<file>`, `[pool]`, `<nodes...>`. Kinds that are absent here are free text.
 */
export const completions: Readonly<Record<string, NameKind | 'files' | readonly string[]>> = {
  account: 'accounts',
  action: loggedActions,
  actions: machineActions,
  automator: 'automators',
  cluster: 'clusters',
  code: 'codes',
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
  output: 'outputs',
  path: 'files',
  plugin: 'plugins',
  pool: 'pools',
  reservation: 'reservations',
  resource: 'resources',
  service: 'services',
  services: 'services',
  source: 'files',
  target: 'files',
  type: 'provider types',
  'variable=value': 'variables',
  workflow: 'clusters',
};

const words = (list: readonly string[]): Candidates => ({ is: 'words', words: list });

/** What may follow the words before the cursor; `current` is the word at it, perhaps empty. */
export function candidatesFor(program: Command, before: readonly string[], current: string): Candidates {
  const { command, values, given, open } = follow(program, before);
  const place = { command, first: values[0], options: given };
  const { flag, value } = splitFlag(current);
  const option = open ?? (value === undefined ? undefined : findOption(command, flag));
  if (option !== undefined) return valuesOf(option, place);
  if (current.startsWith('-')) return words(flagsOf(command));
  if (command.commands.length > 0 && values.length === 0)
    return words(command.commands.filter((inner) => !isHidden(inner)).map((inner) => inner.name()));
  const argument = argumentAt(command, values.length);
  return argument === undefined ? words([]) : valuesOf(argument, place);
}

/**
 * The kind of value that an argument or an option takes: `file` of `--config <file>`; undefined for a flag.
 */
export function valueKind(one: Argument | Option): string | undefined {
  return 'flags' in one ? /[<[](.+?)(?:\.{3})?[>\]]$/.exec(one.flags)?.[1] : one.name();
}

/**
 * The command that the words select, its arguments and options so far, and an option that waits
 * for its value.
 */
function follow(
  program: Command,
  before: readonly string[],
): {
  readonly command: Command;
  readonly values: readonly string[];
  readonly given: Readonly<Record<string, string>>;
  readonly open?: Option;
} {
  let command = program;
  let open: Option | undefined;
  const values: string[] = [];
  const given: Record<string, string> = {};
  for (const word of before) {
    if (open !== undefined) {
      given[open.attributeName()] = word;
      open = undefined;
      continue;
    }
    if (word.startsWith('-')) {
      const { flag, value } = splitFlag(word);
      const option = findOption(command, flag);
      if (option === undefined) continue;
      if (value !== undefined) given[option.attributeName()] = value;
      else if (option.required || option.optional) open = option;
      continue;
    }
    const inner = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (inner !== undefined && values.length === 0) command = inner;
    else values.push(word);
  }
  return { command, values, given, open };
}

/** `--flag=value`, or a flag whose value is another word. */
function splitFlag(word: string): { readonly flag: string; readonly value?: string } {
  const [, flag = word, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  return { flag, value };
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

function valuesOf(
  one: Argument | Option,
  {
    command,
    first,
    options,
  }: { readonly command: Command; readonly first: string | undefined; readonly options: ServerOptions },
): Candidates {
  if (one.argChoices !== undefined) return words(one.argChoices);
  const of = completions[valueKind(one) ?? ''] ?? [];
  if (of === 'files') return { is: 'files' };
  if (typeof of !== 'string') return words(of);
  const scope = command.registeredArguments[0]?.name() ?? '';
  return {
    is: 'names',
    of: of === 'nodes' && scope === 'pool' ? 'pool nodes' : of,
    within: ['cluster', 'pool', 'file'].includes(scope) ? first : undefined,
    options,
  };
}

function isHidden(command: Command): boolean {
  return command.name().startsWith('__');
}
