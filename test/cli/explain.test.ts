import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cases, entries } from '../../src/cli/explain/catalogue.js';
import { explain } from '../../src/cli/explain/explain.js';
import { caseFinder, entriesWithin, readQuery } from '../../src/cli/explain/find.js';
import { documentSchemas } from '../../src/schema/output/documents.js';
import { sourceTexts } from '../harness/cli/source-texts.js';

let written = '';

beforeEach(() => {
  written = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written += String(text);
    return true;
  });
});
afterEach(() => vi.restoreAllMocks());

async function textOf(...words: readonly string[]): Promise<string> {
  written = '';
  await explain(words, {});
  return written;
}

async function documentOf(...words: readonly string[]): Promise<unknown> {
  written = '';
  await explain(words, { json: true });
  return JSON.parse(written);
}

describe('the catalogue', () => {
  it('has only messages that are texts of the sources', () => {
    const texts = sourceTexts('src/cli/explain/');
    expect(texts.length).toBeGreaterThan(5_000);
    expect(cases.filter(({ message }) => !texts.some(({ text }) => text.includes(message)))).toEqual([]);
  });

  it('has each message once for each of its codes', () => {
    expect(cases.length).toBeGreaterThan(100);
    expect(new Set(cases.map(({ message, of, code }) => `${of} ${code} ${message}`)).size).toBe(cases.length);
  });

  it('has each message with every code that a source writes it with', () => {
    const wrong = sourceTexts('src/cli/explain/').flatMap(({ text, error }) => {
      const known = cases.filter(({ message }) => text.includes(message));
      if (error === undefined || known.length === 0) return [];
      const of = error.name === 'PluginError' ? 'task' : 'command';
      return known.some((one) => one.of === of && one.code === error.code)
        ? []
        : [`${of} ${error.code}: ${text}`];
    });
    expect(wrong).toEqual([]);
  });

  it('has no message with a code that no source writes it with', () => {
    const texts = sourceTexts('src/cli/explain/');
    const wrong = cases.filter(({ message, of, code }) => {
      const errors = texts.filter(({ text }) => text.includes(message)).map(({ error }) => error);
      // Without a literal, the code is unknown here.
      return errors.every(
        (error) =>
          error !== undefined && (error.code !== code || (error.name === 'PluginError') !== (of === 'task')),
      );
    });
    expect(wrong).toEqual([]);
  });

  it('lists a message with the meaning of its code only', () => {
    for (const { of, code, messages } of entries)
      expect(messages).toEqual(
        cases.filter((one) => one.of === of && one.code === code).map(({ message }) => message),
      );
  });

  it('has whole sentences', () => {
    const sentences = [
      ...entries.flatMap(({ meaning, reaction, causes }) => [
        meaning,
        ...(reaction === undefined ? [] : [reaction]),
        ...causes.flatMap(({ cause, remedy }) => [cause, remedy]),
      ]),
      ...cases.flatMap(({ cause, remedy }) => [cause, remedy]),
    ];
    expect(sentences.filter((text) => !/^\S.*[^.]\.$/.test(text) || text.includes('  '))).toEqual([]);
  });
});

/** Values that differ from those in the texts, with words that other messages have. */
const values = ['web-1', '10.0.0.7:2222', '"a name"', 'no worker', 'ECONNREFUSED 127.0.0.1:7233', '12'];

describe('heddle explain', () => {
  it('finds each message among the three best, whatever its values are', () => {
    const find = caseFinder(cases);
    const missed = cases.flatMap((one) =>
      values.flatMap((_, first) => {
        let at = first;
        const message = one.message.replaceAll(
          /(\p{L}?)…/gu,
          (_, letter: string) => `${letter}${letter === '' ? '' : ': '}${values[at++ % values.length]}`,
        );
        const shown =
          one.of === 'command'
            ? `error[${one.code}]: ${message}\nnext: heddle status web`
            : `START app of web-1: ${message} (${one.code}, attempt 2 follows)`;
        const query = readQuery([shown]);
        return find(query, entriesWithin(query, entries)).includes(one) ? [] : [shown];
      }),
    );
    expect(missed).toEqual([]);
  });

  it.each([
    ['no worker polls task queue heddle/core', 'no worker polls task queue'],
    ['shows host key SHA256:abc, expected SHA256:def', 'shows host key'],
    ['Refused the LOGIN', 'refused the login'],
    ['sudo -n does not let root@10.0.0.1:22 become root', 'sudo -n does not let'],
    ['disk full on node app-1', 'disk full on node'],
    ['cluster web is busy with operation 4', 'is busy with operation'],
    ['TMPRL1100 no worker can continue workflow cluster/web', 'no worker can continue workflow'],
    ['web is locked by its file', 'is locked by its file'],
  ])('finds the message for %s', async (words, message) => {
    const [first = ''] = (await textOf(...words.split(' '))).split('\n');
    expect(first).toContain(message);
  });

  it.each([
    ['error[NotFound]: cluster web does not exist: the last one of that name was deleted', 'NotFound'],
    ['error[Usage]: nodes.txt cannot be read: permission denied', 'Usage'],
    ['error[Invalid]: /home/me/backup.tar cannot be read: it does not exist', 'Invalid'],
    ['error[NotFound]: image lab does not exist (Invalid, attempt 2 follows)', 'NotFound'],
  ])('describes the code of %s, which no message with that code fits', async (text, code) => {
    expect(await documentOf(text)).toMatchObject({ cases: [], entries: expect.anything() as unknown });
    expect(await textOf(text)).toContain(`${code}: `);
  });

  it.each([
    'cluster web does not exist: the last one of that name was deleted',
    'nodes.txt cannot be read: permission denied',
    '/etc/heddle/heddle.yaml cannot be read: the file does not exist',
    'pool ci does not exist; existing ones: lab',
    'the node is not there',
    'the worker cannot do this now',
    'the machine was not found',
    'it did not end in time',
    'the file was not changed',
    'service app does not exist; the cluster has db, web',
    'the task failed',
  ])('has no case for %s', async (text) => {
    await expect(explain([text], {})).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('shows one meaning of a code, as the case of a message names it', async () => {
    expect(await textOf('disk full on node app-1: the script was not started')).toContain(
      'more:   heddle explain task Invalid\n',
    );
    expect(await documentOf('task', 'Invalid')).toMatchObject({ entries: [{ code: 'Invalid', of: 'task' }] });
    expect(await documentOf('command', 'invalid')).toMatchObject({ entries: [{ of: 'command' }] });
  });

  it.each(entries)('describes $code ($of)', async ({ code, title }) => {
    expect(await textOf(...code.toLowerCase().split(' '))).toContain(`${code}: ${title}\n`);
  });

  it.each([
    ['a code of several kinds', 'Invalid', ['command', 'task']],
    ['a check of one account', 'machines (local)', ['check']],
    ['a kind in a failure', 'app-3: START app failed 0.2 s ago (ScriptFailed, exit code 7)', ['task']],
    ['an unknown message with its code', 'error[NoServer]: zork', ['command']],
  ])('describes %s', async (_, words, kinds) => {
    expect(await documentOf(words)).toMatchObject({ entries: kinds.map((of) => ({ of })) });
  });

  it.each([
    ['NoWroker', 'Did you mean "NoWorker"?'],
    ['scriptfaild', 'Did you mean "ScriptFailed"?'],
    ['zork', 'Give a code, or more words of the message'],
    ['the', 'Give a code, or more words of the message'],
  ])('suggests for %s', async (word, suggestion) => {
    await expect(explain([word], {})).rejects.toMatchObject({
      code: 'NotFound',
      message: expect.stringContaining(suggestion) as string,
      next: 'heddle explain',
    });
  });

  it('lists all codes without an argument, and with a blank one', async () => {
    for (const text of [await textOf(), await textOf(' \n')])
      for (const { code, title } of entries)
        expect(text).toMatch(new RegExp(`^  ${code} +${title.slice(0, 30)}`, 'm'));
  });

  it.each([[], ['Held'], ['shows host key']])('writes its published document: %s', async (...words) => {
    const schema = new Map(documentSchemas()).get('explain');
    expect(schema?.safeParse(await documentOf(...words)).error).toBeUndefined();
  });

  it.each([
    ['escapes', '\u001b]0;evil\u0007\u001b[2Jno worker polls\u009b31m task queue\u202e'],
    ['a very long word', 'a'.repeat(1_000_000)],
    ['very many words', 'no worker polls task queue '.repeat(50_000)],
    ['characters of patterns', '(a+)+$ [x ${y} … %s {{ }} \\'],
    ['names of objects', '__proto__ constructor toString'],
  ])('survives %s', async (_, text) => {
    const began = performance.now();
    const answer = await textOf(text).catch((error: unknown) => String(error));
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(answer.length).toBeLessThan(5_000);
    expect(answer).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e]/u);
  });

  it.each([40, 80, 200])('fits into %i columns, apart from commands and long words', async (columns) => {
    vi.spyOn(process, 'stdout', 'get').mockReturnValue(
      Object.assign(Object.create(process.stdout) as NodeJS.WriteStream, {
        isTTY: true,
        columns,
        hasColors: () => false,
        fd: 1 as const,
      }),
    );
    const shown = [await textOf()];
    for (const { code } of entries) shown.push(await textOf(code));
    for (const { message } of cases) shown.push(await textOf(message));
    const long = shown
      .join('')
      .split('\n')
      .filter((line) => line.length > columns && !/^( *\$ |(next|more): )/.test(line));
    expect(long.filter((line) => line.trim().replace(/^- /, '').includes(' '))).toEqual([]);
  });
});
