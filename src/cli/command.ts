import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import { describedArgument } from './argument-texts.js';
import { CliError } from './errors.js';
import { helpEnd } from './help-format.js';
import { pairParser } from './pairs.js';
import { serverAddressForm, wrongServerAddress } from '../model/endpoint.js';
import { labelRule, parseLabel, type Labels } from '../model/cluster/labels.js';
import { parseDuration } from '../model/duration.js';
import type { DocumentName } from '../schema/output/documents.js';

/** Carries out a command with its arguments and options; returns the exit code. */
type Handler = (...wordsAndOptions: never[]) => Promise<number>;

/** A command as `heddle --help` shows it. Its handler is loaded when it runs, so that help starts quickly. */
export interface CommandDefinition {
  /** Begins a group of commands in the help. */
  readonly heading?: string;
  /**
   * `load <machine>`. The words in brackets are kinds of values, which `argument-texts.ts` describes and
   * `completion/candidates.ts` completes.
   */
  readonly usage: string;
  readonly alias?: string;
  readonly about: string;
  /** Continues `about` in the command's own help. */
  readonly more?: string;
  /** Replaces `about` in the command's own help. */
  readonly description?: string;
  /**
   * Calls of it, in the words of a shell. A command with subcommands has the examples of the first of them.
   */
  readonly examples?: readonly string[];
  /** The page in docs/ about it and its subcommands. Default: that of its parent. */
  readonly page?: string;
  /** After those of `usage`. */
  readonly arguments?: readonly Argument[];
  readonly options?: readonly Option[];
  /** Which of the common options it takes; `server` by default. */
  readonly needs?: 'server' | 'configuration' | 'output' | 'nothing';
  /** For programs: the help does not show it. */
  readonly hidden?: boolean;
  /** What it writes with --json: one of these documents, described in schemas/output. */
  readonly json?: readonly DocumentName[];
  readonly load?: () => Promise<Handler>;
  readonly commands?: readonly CommandDefinition[];
}

/** Declares a command by its usage, such as `load <machine>`, and what it is about. */
export function command(
  usage: string,
  about: string,
  definition: Omit<CommandDefinition, 'usage' | 'about'>,
): CommandDefinition {
  return { usage, about, ...definition };
}

/** Runs a handler, which returns the exit code. */
export type Run = (handler: () => Promise<number>) => Promise<void>;

export function addCommand(
  parent: Command,
  definition: CommandDefinition,
  run: Run,
  pageOfParent = generalPage,
): void {
  const { heading, alias, about, load, hidden: isHidden, page = pageOfParent } = definition;
  if (heading !== undefined) parent.commandsGroup(heading);
  const added = parent
    .command(commandName(definition), { hidden: isHidden })
    .summary(about)
    .description(describeCommand(definition))
    .addHelpText('after', () => helpEnd(examplesOf(definition), page));
  if (alias !== undefined) added.alias(alias);
  for (const argument of argumentsOf(definition)) added.addArgument(argument);
  for (const one of definition.options ?? []) added.addOption(one);
  if (load === undefined) {
    for (const one of commonOptions.server) added.addOption(hidden(one));
  } else {
    const { needs = 'server' } = definition;
    for (const one of commonOptions[needs]) added.addOption(one);
    added.action((...words: unknown[]) => {
      const options = { ...optionsBefore(added), ...(words.at(-2) as object) };
      return run(async () => (await load())(...([...words.slice(0, -2), options] as never[])));
    });
  }
  // Otherwise a command with options of its own takes those of its subcommands.
  if (definition.commands !== undefined) added.enablePositionalOptions();
  for (const inner of definition.commands ?? []) addCommand(added, inner, run, page);
}

/** The page about all commands. */
export const generalPage = 'reference/cli.md';

/** The name in its usage: `load` of `load <machine>`. */
export function commandName({ usage }: CommandDefinition): string {
  return usage.split(' ', 1).join();
}

/** A sentence about a command. */
export function describeCommand({
  about,
  more = '',
  description = `${about}${more}`,
}: Pick<CommandDefinition, 'about' | 'more' | 'description'>): string {
  return `${description.charAt(0).toUpperCase()}${description.slice(1)}.`;
}

/** The arguments of its usage, then the declared ones. */
export function argumentsOf({ usage, arguments: declared = [] }: CommandDefinition): readonly Argument[] {
  return [...usage.split(' ').slice(1).map(describedArgument), ...declared];
}

/** Its examples, or the first example of each of its first subcommands. */
export function examplesOf({ examples, commands = [] }: CommandDefinition): readonly string[] {
  return examples ?? commands.slice(0, 3).flatMap((inner) => examplesOf(inner).slice(0, 1));
}

/** Declares the common options before the verb: `heddle --json list`. */
export function addCommonOptions(program: Command): void {
  const heading = 'Common options, anywhere on the line:';
  for (const one of commonOptions.server) program.addOption(one.helpGroup(heading));
  program.addHelpOption(new Option('-h, --help', 'print help').helpGroup(heading));
}

/** The common options that stand before a command. @throws CliError Usage for one that it does not take. */
function optionsBefore(command: Command): Readonly<Record<string, unknown>> {
  const given: Record<string, unknown> = {};
  for (const one of commonOptions.server) {
    const name = one.attributeName();
    const value = valueBefore(command, name);
    if (value === undefined) continue;
    if (!command.options.some((own) => own.attributeName() === name)) throw notTaken(command, one);
    given[name] = value;
  }
  return given;
}

/** `<file>`, `[name]` or `<nodes...>`. */
export function argumentTerm(one: Argument): string {
  const name = `${one.name()}${one.variadic ? '...' : ''}`;
  return one.required ? `<${name}>` : `[${name}]`;
}

/** The value of an option that stands before a command; the nearest of several. */
function valueBefore({ parent }: Command, name: string): unknown {
  return parent === null ? undefined : (parent.getOptionValue(name) ?? valueBefore(parent, name));
}

function notTaken(command: Command, { long }: Option): CliError {
  const name = nameOf(command);
  return new CliError('Usage', `${name} has no option '${long}'`, { next: `${name} --help` });
}

/** `heddle pool list`. */
function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}

function hidden(one: Option): Option {
  return Object.assign(new Option(one.flags, one.description), { parseArg: one.parseArg, hidden: true });
}

export function option<Value>(
  flags: string,
  description: string,
  { parse, fallback }: { readonly parse?: Parser<Value>; readonly fallback?: unknown } = {},
): Option {
  const made = new Option(flags, description);
  if (parse !== undefined) made.argParser(parse);
  return fallback === undefined ? made : made.default(fallback);
}

/** An option that takes one of several values. */
export function choice(
  flags: string,
  description: string,
  choices: readonly string[],
  fallback?: string,
): Option {
  return option(flags, description, { fallback }).choices(choices);
}

export function argument<Value>(name: string, description: string, parse?: Parser<Value>): Argument {
  const made = new Argument(name, description);
  return parse === undefined ? made : made.argParser(parse);
}

/** Parses a value of an option, given also the value before when the option is repeated. */
export type Parser<Value> = (text: string, before: Value) => Value;

/** A parser that refuses texts for which `read` returns undefined. */
export function parser<Value>(wanted: string, read: (text: string) => Value | undefined): Parser<Value> {
  return (text) => {
    const value = read(text);
    if (value === undefined) throw new InvalidArgumentError(wanted);
    return value;
  };
}

/** A parser of whole numbers in these bounds. */
export function wholeNumber(
  wanted: string,
  from: number,
  to: number = Number.MAX_SAFE_INTEGER,
): Parser<number> {
  return parser(wanted, (text) => {
    const value = Number(text);
    return /^(0|[1-9]\d*)$/.test(text) && value >= from && value <= to ? value : undefined;
  });
}

/** A parser of durations to ms. */
export function durationMs(wanted: string): Parser<number> {
  return parser(wanted, parseDuration);
}

/** The parts of a text with commas, without blanks; undefined for none. */
export function splitList(text: string): readonly string[] | undefined {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return parts.length === 0 ? undefined : parts;
}

export const yesOption = option('-y, --yes', 'do not ask for confirmation');

const timeoutOption = option(
  '--timeout <duration>',
  'wait no longer than this, such as 45m; the work continues',
  { parse: durationMs('It must be a duration such as 30s, 10m or 1h30m, of at most 30 days.') },
);

export const waitOptions: readonly Option[] = [
  option('--no-wait', 'return once the request is accepted, instead of waiting until it is done'),
  timeoutOption,
];

/** Of operations that may end without some nodes. */
export const acceptMinimumOption = option(
  '--accept-minimum',
  'exit with 0 even if nodes are missing, as onFailure or minimum of the file allow',
);

/** May be repeated: all of the labels apply. */
export function labelOption(description: string): Option {
  return option<Labels | undefined>('-l, --label <key=value>', description, {
    parse: (text, before) => {
      const label = parseLabel(text);
      if (label === undefined) throw new InvalidArgumentError(`It must be ${labelRule}`);
      const [key, value] = label;
      if (before !== undefined && Object.hasOwn(before, key))
        throw new InvalidArgumentError(`${key} is given twice. Give it once.`);
      return { ...before, [key]: value };
    },
  });
}

const planOption = option('--plan', 'only show what would be done; nothing is changed');

export const verboseOption = option(
  '--verbose',
  'show every task of the plan in order, and what it waits for',
);

export const planOptions: readonly Option[] = [planOption, verboseOption];

/** Options of every operation of a cluster, beside its own. */
export const operationOptions: readonly Option[] = [
  ...planOptions,
  option('--queue', 'wait for earlier operations instead of being refused while the cluster is busy'),
  ...waitOptions,
];

/** Of an operation with a time limit of its own. */
export const timedOperationOptions = operationOptions.filter((one) => one !== timeoutOption);

export const rollingOption = option(
  '--rolling <number>',
  'at most this many nodes of a service at a time (default: all)',
  { parse: wholeNumber('It must be a whole number of at least 1.', 1) },
);

export const nodesOption = namesOption('--nodes <nodes>', 'only these nodes, such as app-1,app-2', 'nodes');

/** Which nodes a command is about, beside `nodesOption`. */
export const selectionOptions: readonly Option[] = [
  nodesOption,
  namesOption('--services <services>', 'only nodes with one of these services, such as web,db', 'services'),
  namesOption('--groups <groups>', 'only nodes of these groups of the file, such as app,lb', 'groups'),
];

/** What an apply is limited to. */
export const scopeOptions: readonly Option[] = [
  nodesOption,
  namesOption(
    '--services <services>',
    'only these services and what they require, such as web,db',
    'services',
  ),
];

/** Names separated by commas; may be repeated. */
export function namesOption(flags: string, description: string, of: string): Option {
  return option<readonly string[] | undefined>(flags, description, {
    parse: (text, before) => {
      const names = splitList(text);
      if (names === undefined)
        throw new InvalidArgumentError(`It must be a list of ${of}, separated by commas.`);
      return [...new Set([...(before ?? []), ...names])];
    },
  });
}

/** A parser of texts that are not empty. */
function nonBlank(wanted: string): Parser<string> {
  return parser(wanted, (text) => (text.trim() === '' ? undefined : text));
}

const parseAddress = parser(`It must be ${serverAddressForm}.`, (text) =>
  wrongServerAddress(text) === undefined ? text : undefined,
);

/** Values of the variables of a cluster file. Both may be repeated. */
export const variableOptions: readonly Option[] = [
  option('--var <variable=value>', 'a value for a variable of the file; overrides HEDDLE_VAR_<name>', {
    parse: pairParser('--var'),
  }),
  option<readonly string[] | undefined>('--var-file <file>', 'values for variables, as YAML or JSON', {
    parse: (text, before) => [...(before ?? []), text],
  }),
];

const jsonOption = option('--json', 'write JSON for programs');

const configurationOptions = [
  jsonOption,
  option(
    '--config <file>',
    "heddle.yaml to use (default: HEDDLE_CONFIG, ./heddle.yaml, the user's configuration folder)",
    { parse: nonBlank('It must be the path of a heddle.yaml.') },
  ),
];

export const commonOptions: Readonly<Record<NonNullable<CommandDefinition['needs']>, readonly Option[]>> = {
  nothing: [],
  output: [jsonOption],
  configuration: configurationOptions,
  server: [
    ...configurationOptions,
    option(
      '--address <host:port>',
      'Temporal server (default: TEMPORAL_ADDRESS, temporal.toml, a running heddle dev)',
      { parse: parseAddress },
    ),
    option('--namespace <name>', 'Temporal namespace', {
      parse: nonBlank('It must be the name of a namespace.'),
    }),
    option('--profile <name>', 'profile of temporal.toml', {
      parse: nonBlank('It must be the name of a profile.'),
    }),
  ],
};
