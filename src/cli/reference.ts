import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Help, type Argument, type Option } from 'commander';
import { argumentTerm, commonOptions, type CommandDefinition } from './command.js';
import { commands } from './program.js';

/** The command reference, docs/command-reference.md. */
export function commandReference(): string {
  return `${[
    '# Command reference',
    '`npm run build` generates this page from the program. [The command line](cli.md) explains the commands, with examples. JSON names the [schemas](cli.md#json-output) of what a command writes with `--json`.',
    `## Common options\nThey stand before or after the command. Commands that do not take all of them say so.\n${optionTable(commonOptions.server)}`,
    `## Shared options\nEach command names those that it takes.\n${optionTable(sharedOptions)}`,
    ...commands.flatMap((definition) => [
      ...(definition.heading === undefined ? [] : [`## ${definition.heading.replace(/:$/, '')}`]),
      ...sectionsOf(definition),
    ]),
  ].join('\n\n')}\n`;
}

/** Options that many commands take are described once. */
const sharedOptions = ((): readonly Option[] => {
  const all = commands.flatMap(optionsIn);
  return [...new Set(all)].filter((one) => all.filter((other) => other === one).length >= 5);
})();

function optionsIn({ options = [], commands: inner = [] }: CommandDefinition): readonly Option[] {
  return [...options, ...inner.flatMap(optionsIn)];
}

/** A section for a command, and for each of its subcommands. */
function sectionsOf(definition: CommandDefinition, parent = ''): readonly string[] {
  if (definition.hidden === true) return [];
  const { usage, arguments: values = [], options = [], commands: inner = [] } = definition;
  const name = `${parent}${usage.split(' ')[0]}`;
  const signature = ['heddle', `${parent}${usage}`, ...values.map(argumentTerm)].join(' ');
  const rows = [
    ...values.map(argumentRow),
    ...options.filter((one) => !sharedOptions.includes(one)).map(optionRow),
  ];
  return [
    [
      `### ${name}`,
      ...(definition.load === undefined ? [] : [`\`${signature}\`\n`]),
      [describe(definition), ...notesOn(definition)].join(' '),
      ...(rows.length === 0 ? [] : [table(rows)]),
    ].join('\n'),
    ...inner.flatMap((one) => sectionsOf(one, `${name} `)),
  ];
}

function describe({
  about,
  more = '',
  description = `${about}${more}`,
  alias,
  example,
}: CommandDefinition): string {
  return [
    `${escape(`${description.charAt(0).toUpperCase()}${description.slice(1)}`)}.`,
    ...(alias === undefined ? [] : [`Alias: \`${alias}\`.`]),
    ...(example === undefined ? [] : [`Example: \`${example}\`.`]),
  ].join(' ');
}

/** Shared options, fewer common options, and documents of --json. */
function notesOn({ options = [], needs = 'server', json = [], load }: CommandDefinition): readonly string[] {
  if (load === undefined) return [];
  const shared = options.filter((one) => sharedOptions.includes(one));
  return [
    ...(shared.length === 0 ? [] : [`Shared options: ${codes(shared.map(longOf))}.`]),
    ...(needs === 'server' ? [] : [`Common options: ${codes(commonOptions[needs].map(longOf))}.`]),
    ...(json.length === 0 ? [] : [`JSON: ${codes(json)}.`]),
  ];
}

const help = new Help();

function optionTable(options: readonly Option[]): string {
  return table(options.map(optionRow));
}

function table(rows: readonly string[]): string {
  return ['\n| | meaning |', '|---|---|', ...rows].join('\n');
}

function optionRow(one: Option): string {
  const required = one.mandatory ? ' (required)' : '';
  return `| \`${one.flags}\` | ${escape(help.optionDescription(one))}${required} |`;
}

function argumentRow(one: Argument): string {
  return `| \`${argumentTerm(one)}\` | ${escape(help.argumentDescription(one))} |`;
}

function longOf({ long, flags }: Option): string {
  return long ?? flags;
}

function codes(words: readonly string[]): string {
  return words.length === 0 ? 'none' : words.map((word) => `\`${word}\``).join(', ');
}

/** Keeps characters that Markdown would read as its own. */
function escape(text: string): string {
  return text.replaceAll(/[|<*]/g, String.raw`\$&`);
}

/** Run as a program, it writes the page: `node dist/cli/reference.js docs/command-reference.md`. */
const [program, file] = process.argv.slice(1);
if (program !== undefined && file !== undefined && import.meta.url === pathToFileURL(program).href) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, commandReference());
}
