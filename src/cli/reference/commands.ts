import { Help, type Argument, type Option } from 'commander';
import {
  argumentsOf,
  argumentTerm,
  commandName,
  commonOptions,
  describeCommand,
  examplesOf,
  generalPage,
  type CommandDefinition,
} from '../command.js';
import { helpFormat } from '../help-format.js';
import { commands } from '../program.js';
import { code, codes, escapeMarkdown, table } from './markdown.js';

const shown = commands.filter(({ hidden }) => hidden !== true);

/** Pages of the commands, by path from docs/: one for each command of the first level, and their index. */
export function commandPages(): Readonly<Record<string, string>> {
  return {
    'reference/commands/index.md': indexPage(),
    ...Object.fromEntries(
      shown.map((definition) => [
        `reference/commands/${commandName(definition)}.md`,
        `${commandPage(definition)}\n`,
      ]),
    ),
  };
}

function indexPage(): string {
  const items = shown.flatMap((definition) => [
    ...(definition.heading === undefined ? [] : [`\n## ${definition.heading.replace(/:$/, '')}`]),
    `- [${commandName(definition)}](${commandName(definition)}.md): ${escapeMarkdown(definition.about)}`,
  ]);
  return [
    '# Commands',
    '',
    '`npm run build` generates these pages from the program. [The command line](../cli.md) shows them at work.',
    ...items,
    '',
    '## Common options',
    'They stand before or after the command. Commands that do not take all of them say so.',
    '',
    optionTable(commonOptions.server),
    '',
  ].join('\n');
}

function commandPage(definition: CommandDefinition): string {
  return [
    `# heddle ${commandName(definition)}`,
    ...contentOf(definition, '', generalPage),
    ...sectionsOf(definition.commands, `${commandName(definition)} `, definition.page ?? generalPage),
  ].join('\n\n');
}

function sectionsOf(
  inner: readonly CommandDefinition[] = [],
  parent: string,
  pageOfParent: string,
): readonly string[] {
  return inner
    .filter(({ hidden }) => hidden !== true)
    .flatMap((definition) => [
      `## ${parent}${commandName(definition)}`,
      ...contentOf(definition, parent, pageOfParent),
      ...sectionsOf(
        definition.commands,
        `${parent}${commandName(definition)} `,
        definition.page ?? pageOfParent,
      ),
    ]);
}

function contentOf(definition: CommandDefinition, parent: string, pageOfParent: string): readonly string[] {
  const { options = [], load, page = pageOfParent } = definition;
  const values = argumentsOf(definition);
  const rows = [...values.map(argumentRow), ...options.map(optionRow)];
  const signature = ['heddle', `${parent}${commandName(definition)}`, ...values.map(argumentTerm)].join(' ');
  const more = page === generalPage ? [] : [`See also ${pageLink(page)}.`];
  if (load === undefined) return [[escapeMarkdown(describeCommand(definition)), ...more].join(' ')];
  return [
    `\`\`\`\n${signature}${options.length === 0 ? '' : ' [options]'}\n\`\`\``,
    [escapeMarkdown(describeCommand(definition)), ...notesOn(definition), ...more].join(' '),
    ...(rows.length === 0 ? [] : [table(['argument or option', 'meaning'], rows)]),
    `\`\`\`sh\n${examplesOf(definition).join('\n')}\n\`\`\``,
  ];
}

/** Its alias, fewer common options, and documents of --json. */
function notesOn({ alias, needs = 'server', json = [] }: CommandDefinition): readonly string[] {
  return [
    ...(alias === undefined ? [] : [`Alias: ${code(alias)}.`]),
    ...(needs === 'server' ? [] : [`Common options: ${codes(commonOptions[needs].map(longOf))}.`]),
    ...(json.length === 0
      ? []
      : [`With \`--json\`: ${json.map((name) => `[${name}](../json.md#${name})`).join(', ')}.`]),
  ];
}

function pageLink(page: string): string {
  return `[${page.replaceAll(/^.*\/|\.md$/g, '').replaceAll('-', ' ')}](../../${page})`;
}

const help = Object.assign(new Help(), helpFormat);

function optionTable(options: readonly Option[]): string {
  return table(['option', 'meaning'], options.map(optionRow));
}

function optionRow(one: Option): readonly string[] {
  return [code(one.flags), escapeMarkdown(help.optionDescription(one))];
}

function argumentRow(one: Argument): readonly string[] {
  return [code(argumentTerm(one)), escapeMarkdown(help.argumentDescription(one))];
}

function longOf({ long, flags }: Option): string {
  return long ?? flags;
}
