import { describe, expect, inject, it } from 'vitest';
import { candidatesFor, completions, valueKind } from '../../src/cli/completion/candidates.js';
import { createProgram } from '../../src/cli/program.js';
import { allCommands } from '../harness/cli/all-commands.js';
import { runHeddle } from '../harness/cli/run-heddle.js';

const program = createProgram(() => Promise.resolve());

/** Numbers, durations, new names, and names that no list contains. */
const freeText = [
  '-',
  'action',
  'actions',
  'automator',
  'changes',
  'command',
  'drift',
  'duration',
  'flavor',
  'group',
  'groups',
  'host',
  'host:port',
  'id',
  'ids',
  'image[@revision]',
  'key',
  'key=value',
  'moment',
  'name',
  'name=value',
  'number',
  'operation',
  'output',
  'plugin',
  'site',
  'task',
  'text',
  'type',
  'user',
  'version',
  'words',
];

describe('candidates for the word at the cursor', () => {
  it.each<[line: string, candidates: object]>([
    ['', { words: expect.arrayContaining(['apply', 'status', 'completion']) }],
    ['machine ', { words: expect.arrayContaining(['add', 'load']) }],
    ['--json pool ', { words: expect.arrayContaining(['list']) }],
    ['status ', { is: 'names', of: 'clusters' }],
    ['--namespace shop status ', { is: 'names', of: 'clusters' }],
    ['replace web ', { is: 'names', of: 'nodes', within: 'web' }],
    ['replace web app-1 ', { is: 'names', of: 'nodes', within: 'web' }],
    ['restart web ', { is: 'names', of: 'services', within: 'web' }],
    ['restart web app --nodes ', { is: 'names', of: 'nodes', within: 'web' }],
    ['restart web app --nodes=', { is: 'names', of: 'nodes', within: 'web' }],
    ['logs web --service ', { is: 'names', of: 'services', within: 'web' }],
    ['task show ', { is: 'names', of: 'clusters' }],
    ['machine load ', { is: 'names', of: 'machines' }],
    ['image show ', { is: 'names', of: 'images' }],
    ['pool nodes ', { is: 'names', of: 'pools' }],
    ['pool nodes ci --label ', { is: 'names', of: 'labels', within: 'ci' }],
    ['pool hold ci ', { is: 'names', of: 'pool nodes', within: 'ci' }],
    ['pool erase ', { is: 'names', of: 'accounts' }],
    ['machine list --provider ', { is: 'names', of: 'accounts' }],
    ['reservation extend ', { is: 'names', of: 'reservations' }],
    ['resource set ', { is: 'names', of: 'resources' }],
    ['recover ', { is: 'names', of: 'clusters' }],
    ['plugins run shell ', { is: 'files' }],
    ['machine log-in lab-1 --key ', { is: 'files' }],
    ['run ', { is: 'names', of: 'labels' }],
    ['run small --pool ', { is: 'names', of: 'pools' }],
    ['run small --copy ', { is: 'files' }],
    ['request create ci ', { is: 'names', of: 'labels', within: 'ci' }],
    ['apply ', { is: 'files' }],
    ['list --config ', { is: 'files' }],
    ['logs web --level ', { words: ['debug', 'info', 'warn', 'error'] }],
    ['completion ', { words: ['bash', 'zsh', 'fish'] }],
    ['apply --', { words: expect.arrayContaining(['--plan', '--json', '--help']) }],
    ['list --label ', { words: [] }],
    ['status web ', { words: [] }],
  ])('of "heddle %s" fit the command', (line, candidates) => {
    const words = line.split(' ');
    expect(candidatesFor(program, words.slice(0, -1), words.at(-1) ?? '')).toMatchObject(candidates);
  });

  it('hide the command that answers the shells', () => {
    expect(candidatesFor(program, [], '')).not.toMatchObject({
      words: expect.arrayContaining(['__complete']),
    });
    expect(program.helpInformation()).not.toContain('__complete');
  });
});

describe('values', () => {
  const values = [...allCommands].flatMap(([path, { registeredArguments, options }]) =>
    [...registeredArguments, ...options].flatMap((one) => {
      const kind = valueKind(one);
      return kind === undefined ? [] : [{ path, one, kind }];
    }),
  );

  it('have choices, a completion, or a kind that is known to be free text', () => {
    expect(values.length).toBeGreaterThan(300);
    expect(
      values
        .filter(({ one, kind }) => one.argChoices === undefined && !(kind in completions))
        .filter(({ kind }) => !freeText.includes(kind))
        .map(({ path, kind }) => `${path} <${kind}>`),
    ).toEqual([]);
  });

  it('have kinds that exist, and each kind is either completed or free text', () => {
    const used = new Set(values.map(({ kind }) => kind));
    const declared = [...Object.keys(completions), ...freeText];
    expect(declared.filter((kind) => !used.has(kind))).toEqual([]);
    expect(new Set(declared).size).toBe(declared.length);
  });
});

describe('the printed completions', () => {
  it.each(['bash', 'zsh', 'fish'])('of %s ask heddle for the words', async (shell) => {
    const { code, stdout } = await runHeddle(['completion', shell], { distPath: inject('distPath') });
    expect(code).toBe(0);
    expect(stdout).toContain('heddle __complete -- ');
    expect(stdout).not.toContain('\\$');
  });
});
