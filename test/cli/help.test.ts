import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { commandName, examplesOf, generalPage, type CommandDefinition } from '../../src/cli/command.js';
import { exitCodeMeanings, exitCodes } from '../../src/cli/errors.js';
import { helpEnd } from '../../src/cli/help-format.js';
import { interruptCodes } from '../../src/cli/interrupts.js';
import { commands, createProgram } from '../../src/cli/program.js';
import { allCommands } from '../harness/cli/all-commands.js';

interface Documented {
  readonly path: string;
  readonly definition: CommandDefinition;
  readonly page: string;
}

const all = commands.flatMap((definition) => documented(definition));
const names = all.map(({ path }) => path);
const leaves = all.filter(({ definition }) => definition.load !== undefined);

describe('the help', () => {
  it('is tested of every command', () => {
    const shown = [...allCommands.keys()].filter((path) => path !== '' && !path.startsWith('__'));
    expect(names.toSorted()).toEqual(shown.toSorted());
    expect(leaves.length).toBeGreaterThan(100);
  });

  it.each(leaves)('of heddle $path has examples that call it', async ({ path, definition }) => {
    expect(definition.examples ?? []).not.toEqual([]);
    for (const example of examplesOf(definition)) expect(await commandOf(example), example).toBe(path);
  });

  it.each(all)('of heddle $path shows its examples and its page', ({ path, definition, page }) => {
    const text = helpOf(path);
    expect(examplesOf(definition)).not.toEqual([]);
    for (const example of examplesOf(definition)) expect(text).toContain(`\n  ${example}\n`);
    expect(text.trimEnd().endsWith(`\nMore: docs/${page}`)).toBe(true);
  });

  it.each(all)('of heddle $path describes each argument and option', ({ path }) => {
    const { registeredArguments = [], options = [] } = allCommands.get(path) ?? {};
    const lacking = [...registeredArguments, ...options].filter(({ description }) => description === '');
    expect(lacking.map((one) => ('flags' in one ? one.flags : one.name()))).toEqual([]);
  });

  it.each(['', ...names])('of heddle %s has its sections in the same order', (path) => {
    const order = [
      /^Usage: /,
      /^Arguments:$/,
      /^Options:$/,
      /^Common options/,
      /^(?!Arguments|Options|Examples|Exit codes)[A-Z][a-z ]+:$/,
      /^Examples:$/,
      /^More: /,
      /^Exit codes:$/,
    ];
    const ranks = helpOf(path)
      .split('\n')
      .map((line) => order.findIndex((section) => section.test(line)))
      .filter((rank) => rank >= 0);
    expect(ranks).toEqual(ranks.toSorted((one, other) => one - other));
    expect(ranks).toEqual(expect.arrayContaining([0, 3, 5, 6]));
  });

  it.each(['', ...names])(
    'of heddle %s fits into 40 and 80 columns, apart from examples and paths',
    (path) => {
      for (const columns of [40, 80]) {
        const lines = helpOf(path, columns)
          .split('\n')
          .filter((line) => !/^(?: {2}(?:heddle|source)|Pages are in) /.test(line));
        expect(lines.filter((line) => line.length > columns)).toEqual([]);
      }
    },
  );

  it('of heddle says where the pages are', () => {
    const [, folder = ''] = /^Pages are in (.*)$/m.exec(helpOf('')) ?? [];
    expect(all.map(({ page }) => page).filter((page) => !existsSync(join(folder, page)))).toEqual([]);
  });

  it('says once that commands wait, and nowhere that they do so by default', () => {
    for (const path of names) expect(helpOf(path)).not.toMatch(/--wait\b|\(default: true\)/);
  });
});

describe('the page that the help names', () => {
  it.each(all)('mentions heddle $path', ({ path, page }) => {
    expect(mentions(pageText(page), path), `${page} must mention heddle ${path}`).toBe(true);
  });
});

it('names a page only where it is installed', () => {
  expect(helpEnd(['heddle list'], 'reference/cli.md')).toMatch(/\n\nMore: docs\/reference\/cli\.md$/);
  expect(helpEnd(['heddle list'], 'absent.md')).toMatch(/\n {2}heddle list$/);
});

it('the documentation lists the exit codes of the help and of interrupts', () => {
  const [, section = ''] =
    /^<!-- exit-codes -->\n(.*?)<!-- end -->/ms.exec(pageText('reference/exit-codes.md')) ?? [];
  const rows = [...section.matchAll(/^\| ([\d, ]+) \| (.*) \|$/gm)].map(([, codes = '', meaning = '']) => ({
    codes: codes.split(', ').map(Number),
    meaning,
  }));
  const declared = [...Object.values(exitCodes), ...Object.values(interruptCodes)];
  expect(new Set(rows.flatMap(({ codes }) => codes))).toEqual(new Set(declared));
  for (const [name, code] of Object.entries(exitCodes)) {
    const meaning = exitCodeMeanings[name as keyof typeof exitCodes];
    expect(rows.find(({ codes }) => codes.includes(code))?.meaning).toMatch(new RegExp(`^${meaning}`));
    expect(helpOf('')).toMatch(new RegExp(`^ {2}${code} +${meaning}$`, 'm'));
  }
});

describe('an example', () => {
  it.each([
    ['heddle aply web.yaml', 'aply'],
    ['heddle apply', 'file'],
    ['heddle status web --wacth', '--wacth'],
    ['heddle machine boot lab-1 --once tape', 'tape'],
  ])('that does not parse is found: %s', async (example, wrong) => {
    await expect(commandOf(example)).rejects.toThrow(wrong);
  });
});

function documented(definition: CommandDefinition, parent = '', pageOfParent = generalPage): Documented[] {
  const { commands: inner = [], page = pageOfParent, hidden } = definition;
  if (hidden === true) return [];
  const path = `${parent}${commandName(definition)}`;
  return [{ path, definition, page }, ...inner.flatMap((one) => documented(one, `${path} `, page))];
}

function pageText(page: string): string {
  return readFileSync(join(import.meta.dirname, '..', '..', 'docs', page), 'utf8');
}

function helpOf(path: string, columns = 80): string {
  let text = '';
  const program = createProgram(() => Promise.resolve());
  const command = path
    .split(' ')
    .filter((name) => name !== '')
    .reduce<Command>((found, name) => found.commands.find((one) => one.name() === name) ?? found, program);
  command
    .configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => columns })
    .outputHelp();
  return text;
}

/** The command that a line calls, by its path. @throws if its words, options or arguments are wrong */
async function commandOf(line: string): Promise<string> {
  let called: Command | undefined;
  const program = createProgram(() => Promise.resolve());
  program.hook('preAction', (_, command) => void (called = command));
  const tokens = [...line.matchAll(/'([^']*)'|([^\s'|<>()]+)|[|<>()]/g)];
  const start = tokens.findIndex(([text]) => text === 'heddle') + 1;
  const end = tokens.findIndex(([text], at) => at > start && /^[|<>()]/.test(text));
  const own = tokens.slice(start, end < 0 ? undefined : end);
  const words = own.map(([, quoted, bare = '']) => quoted ?? bare);
  await program.parseAsync(words, { from: 'user' });
  const path: string[] = [];
  for (let at = called; at !== undefined && at !== program; at = at.parent ?? undefined)
    path.unshift(at.name());
  return path.join(' ');
}

/** By `heddle pool check`, or as a table or a list goes on after its first: `check FILE`. */
function mentions(text: string, path: string): boolean {
  const names = path.split(' ');
  const wholes = new RegExp(`(?:heddle |\`)${path}(?![\\w-])`);
  const last = new RegExp(`\`${names.at(-1)}[ \`]`);
  const parent = `heddle ${names.slice(0, -1).join(' ')} `;
  return wholes.test(text) || (names.length > 1 && text.includes(parent) && last.test(text));
}
