import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { commandPages } from '../../src/cli/reference/commands.js';
import { errorsPage } from '../../src/cli/reference/errors.js';
import { allCommands } from '../harness/cli/all-commands.js';

const root = join(import.meta.dirname, '..', '..');
const read = (page: string): string => readFileSync(join(root, page), 'utf8');

describe('docs/reference/commands', () => {
  const generated = commandPages();

  test('has the pages that `npm run build` generates from the program', () => {
    const found = readdirSync(join(root, 'docs/reference/commands')).map(
      (name) => `reference/commands/${name}`,
    );
    expect(found.toSorted()).toEqual(Object.keys(generated).toSorted());
    for (const [page, text] of Object.entries(generated)) expect(read(`docs/${page}`)).toBe(text);
  });

  test.each([...allCommands].filter(([path]) => path !== '' && !path.startsWith('__')))(
    'has the command %s with its options',
    (path, { options }) => {
      const text = read(`docs/reference/commands/${path.split(' ', 1).join()}.md`);
      const own = text.split(/^##? (?:heddle )?/m).find((section) => section.startsWith(`${path}\n`));
      expect(own).toBeDefined();
      const named = `${read('docs/reference/commands/index.md').split('\n## Common options')[1]}${own}`;
      const shown = options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? '');
      expect(shown.filter((long) => !new RegExp(`${long}[\` ]`).test(named))).toEqual([]);
    },
  );
});

test('docs/reference/errors.md is what `npm run build` generates from the catalogue', () => {
  expect(read('docs/reference/errors.md')).toBe(errorsPage());
});

describe('documents', () => {
  const pages = execFileSync('git', ['ls-files', 'README.md', 'docs/*.md'], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n');

  test('name only commands and options that exist', () => {
    const lines = pages.flatMap((page) => commandLines(read(page)).map((line) => ({ page, line })));
    expect(lines.length).toBeGreaterThan(500);
    expect(
      lines.flatMap(({ page, line }) => {
        const wrong = wrongWordOf(line);
        return wrong === undefined ? [] : [`${page}: ${line}: ${wrong}`];
      }),
    ).toEqual([]);
  });

  test.each([
    ['heddle aply web.yaml', 'aply'],
    ['heddle --json pool lst', 'lst'],
    ['heddle apply web.yaml --wat', '--wat'],
    ['heddle plan FILE [--graph mermaid|dot] [--no-prob]', '--no-prob'],
    ['heddle exec web --nodes a -- ls --all', undefined],
    ['heddle pool list | grep --count ci', undefined],
  ])('have a check that finds the wrong word of: %s', (line, wrong) => {
    expect(wrongWordOf(line)).toBe(wrong);
  });

  test('about the command line name only options that some command has', () => {
    const known = new Set(
      [...allCommands.values()].flatMap(({ options }) => options.map(({ long }) => long)),
    );
    const named = [...read('docs/reference/cli.md').matchAll(/`(--[a-z][a-z-]*)/g)].map(
      ([, long = '']) => long,
    );
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((long) => !known.has(long) && long !== '--help')).toEqual([]);
  });
});

/** The calls of heddle in code spans, and in blocks that show a terminal. */
function commandLines(markdown: string): readonly string[] {
  const fence = /^```(\w*)[^\n]*\n([\s\S]*?)^```$/gm;
  const blocks = [...markdown.matchAll(fence)].filter(([, language = '']) =>
    /^(?:console|sh|bash|)$/.test(language),
  );
  const typed = blocks.flatMap(([, , text = '']) => text.replaceAll('\\\n', ' ').split('\n'));
  const spans = [...markdown.replaceAll(fence, '').matchAll(/`([^`]+)`/g)].map(([, span = '']) =>
    span.replaceAll(/\s+/g, ' '),
  );
  return [...typed, ...spans].flatMap(
    (text) => /^(?:\$ |next: |or: +)?(?:npx )?(heddle [a-z-].*)$/.exec(text.trim())?.[1] ?? [],
  );
}

/** The first word of a call that is not a command or option of the program. */
function wrongWordOf(line: string): string | undefined {
  const [own = ''] = line.replaceAll(/'[^']*'|"[^"]*"/g, 'TEXT').split(/ (?:--|[|<>;#…&]+|\.{3})(?: |$)/, 1);
  let path = '';
  let command = allCommands.get('');
  let isValue = false;
  for (const word of own.split(/[\s[\]()]+/).slice(1)) {
    const wasValue = isValue;
    isValue = false;
    if (/^-./.test(word)) {
      const flag = word.replace(/[=,.].*$/, '');
      const option = command?.options.find(({ long, short }) => long === flag || short === flag);
      if (option === undefined && !['--help', '-h'].includes(flag)) return word;
      isValue = option?.required === true;
    } else if (!wasValue && command !== undefined && command.commands.length > 0 && word !== '') {
      const inner = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
      if (inner === undefined) return word;
      path = `${path} ${inner.name()}`.trim();
      command = allCommands.get(path);
    }
  }
  return undefined;
}
