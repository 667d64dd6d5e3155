import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { candidatesFor, completions, valueKind } from '../../src/cli/completion/candidates.js';
import { createProgram } from '../../src/cli/program.js';
import { allCommands } from '../harness/cli/all-commands.js';
import { runHeddle } from '../harness/cli/run-heddle.js';
import { newFolder } from '../harness/folder.js';

const program = createProgram(() => Promise.resolve());

/** Numbers, durations, new names, and names that no list contains. */
const freeText = [
  '-',
  'cases',
  'changes',
  'command',
  'counts',
  'drift',
  'duration',
  'flavor',
  'from',
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
  'site',
  'task',
  'text',
  'to',
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
    ['output web ', { is: 'names', of: 'outputs', within: 'web' }],
    ['--namespace shop --address=far:1 output web ', { options: { namespace: 'shop', address: 'far:1' } }],
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
    ['logs web --action ', { words: expect.arrayContaining(['INSTALL', 'LOAD']) }],
    ['apply web.yaml --var ', { is: 'names', of: 'variables', within: 'web.yaml' }],
    ['validate web.yaml --var=', { is: 'names', of: 'variables', within: 'web.yaml' }],
    ['provider add cloud --type ', { is: 'names', of: 'provider types' }],
    ['reservation create base --system ', { is: 'names', of: 'provider types' }],
    ['machine add lab-1 --system ', { is: 'names', of: 'automators' }],
    ['plugins show ', { is: 'names', of: 'plugins' }],
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

describe('without a server, `heddle __complete`', () => {
  const folder = newFolder();
  const ask = async (...words: readonly string[]): Promise<readonly string[]> => {
    const { code, stdout, stderr } = await runHeddle(['__complete', '--', ...words], {
      distPath: inject('distPath'),
      cwd: folder,
      env: { TEMPORAL_ADDRESS: '127.0.0.1:1', HEDDLE_DATA_FOLDER: join(folder, 'data') },
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout.split('\n').slice(0, -1);
  };

  it('has the variables of the file on the line, with the values that they may have', async () => {
    const file = `name: web
variables:
  size: {type: number}
  mode: {allowed: [fast, safe]}
  debug: {type: boolean}
  token: {secret: true, allowed: [a]}
`;
    await writeFile(join(folder, 'web.yaml'), file);
    expect(await ask('apply', 'web.yaml', '--var', '')).toEqual([
      'size=',
      'mode=fast',
      'mode=safe',
      'debug=true',
      'debug=false',
      'token=',
    ]);
    expect(await ask('plan', 'web.yaml', '--var=mode=s')).toEqual(['--var=mode=safe']);
    expect(await ask('plan', 'web.yaml', '--var', 'mode=a,f')).toEqual([]);
    expect(await ask('plan', 'absent.yaml', '--var', '')).toEqual([]);
    expect(await ask('plan', '--var', '')).toEqual([]);
  });

  it('has no value or name of a file that a shell would interpret', async () => {
    const file = `name: web
variables:
  run: {allowed: ['$(touch ran)', '\`id\`', safe, 'a b', "a\\nb", "it's", '', 'x;y']}
  list: {type: list, allowed: [[a]]}
  map: {type: map, allowed: [{a: 1}]}
`;
    await writeFile(join(folder, 'hostile.yaml'), file);
    expect(await ask('apply', 'hostile.yaml', '--var', '')).toEqual(['run=safe', 'run=', 'list=', 'map=']);
    const plugin = join(folder, 'hostile', 'providers', 'odd');
    await mkdir(plugin, { recursive: true });
    await writeFile(join(plugin, 'odd;id.json'), '{}');
    await writeFile(join(plugin, 'odd.json'), '{}');
    await writeFile(join(folder, 'hostile', 'heddle.yaml'), 'plugins: [.]\n');
    const types = ['--config', 'hostile/heddle.yaml', 'provider', 'add', 'x', '--type', 'o'];
    expect(await ask(...types)).toEqual(['openstack', 'odd']);
  });

  it('has the types of providers, plugins and actions, also those of own folders', async () => {
    await mkdir(join(folder, 'own', 'providers', 'attic'), { recursive: true });
    await writeFile(join(folder, 'own', 'providers', 'attic', 'attic.json'), '{}');
    await writeFile(join(folder, 'heddle.yaml'), 'plugins: [./own]\n');
    expect(await ask('provider', 'add', 'x', '--type', 'a')).toEqual(['aws', 'attic']);
    expect(await ask('plugins', 'show', 'sh')).toEqual(['shell']);
    expect(await ask('logs', 'web', '--action', 'INS')).toEqual(['INSTALL']);
    await writeFile(join(folder, 'heddle.yaml'), 'plugins: {}\n');
    expect(await ask('provider', 'add', 'x', '--type', 'a')).toEqual(['aws']);
    expect(await ask('output', 'web', '')).toEqual([]);
  });
});
