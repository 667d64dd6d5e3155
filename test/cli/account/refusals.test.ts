import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { add, type AddOptions } from '../../../src/cli/account/add.js';
import { fieldsOfLines } from '../../../src/cli/account/given-fields.js';
import { remove } from '../../../src/cli/account/list.js';
import { addAccount, removeSettings } from '../../../src/cli/account/save-account.js';
import { openWorkspace } from '../../../src/cli/account/workspace.js';
import { newFolder } from '../../harness/folder.js';

const written = `dataFolder: ./data
providers:
  rack: {type: static, fields: {inventory: ./rack.yaml}}
`;

describe('an invalid account', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = newFolder();
    file = join(folder, 'heddle.yaml');
    await writeFile(file, written);
  });

  const key = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----';
  it.each<[string, string, Omit<AddOptions, 'file'>, string, string]>([
    [
      'a field that the plugin has not',
      'try',
      { type: 'local', field: [['endpont', 'x']] },
      'ProblemsError',
      'Did you mean "endpoint"?',
    ],
    [
      'a field out of bounds',
      'try',
      { type: 'static', field: [['port', '70000']] },
      'ProblemsError',
      'fields.port: 70000 is more than 65535',
    ],
    [
      'a field that another one requires, and that is missing',
      'try',
      { type: 'docker', field: [['cert', 'x']] },
      'ProblemsError',
      'fields.key: is missing. It is required when cert is given.',
    ],
    [
      'a field of another kind',
      'try',
      { type: 'static', field: [['port', 'high']] },
      'ProblemsError',
      'fields.port: should be a number, but is "high"',
    ],
    [
      'a required field that is missing',
      'try',
      { type: 'local' },
      'ProblemsError',
      'fields.apiKey: is missing',
    ],
    [
      'alternatives that are all missing',
      'try',
      { type: 'static' },
      'ProblemsError',
      'requires machines, or inventory',
    ],
    ['a type that is not there', 'try', { type: 'locl' }, 'NotFound', 'Did you mean "local"?'],
    ['a name that is none', '../x', { type: 'docker' }, 'Usage', 'NAME: "../x" is not a valid name'],
    [
      'a site that is none',
      'x',
      { type: 'docker', site: 'A B' },
      'Usage',
      '--site: "A B" is not a valid name',
    ],
    ['a name that is taken', 'rack', { type: 'docker' }, 'Refused', '--replace'],
    [
      'a field given twice',
      'x',
      {
        type: 'docker',
        field: [
          ['user', 'a'],
          ['user', 'b'],
        ],
      },
      'Usage',
      'user is given twice',
    ],
    [
      'a private key in the command line',
      'x',
      { type: 'docker', field: [['privateKey', key]] },
      'Usage',
      'must not be on the command line',
    ],
    [
      'a password within a mapping in the command line',
      'x',
      { type: 'ipmi', field: [['controllers', '{one: {host: h, user: u, password: AAAA}}']] },
      'Usage',
      '--field controllers: controllers.one.password is a secret, which must not be on the command line',
    ],
    [
      'an address with a password in the command line',
      'x',
      { type: 'docker', field: [['endpoint', 'https://me:AAAA@host']] },
      'Usage',
      '--field endpoint: a secret must not be on the command line',
    ],
    [
      'secrets from somewhere else',
      'x',
      { type: 'docker', secretsFrom: 'secrets.txt' },
      'Usage',
      '--secrets-from - <secrets.txt',
    ],
  ])('is refused, and nothing is changed: %s', async (_what, name, options, code, said) => {
    const error: unknown = await add(name, { ...options, file }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject(code === 'ProblemsError' ? { name: code } : { code });
    expect(String(error)).toContain(said);
    expect(String(error)).not.toContain('AAAA');
    expect(await readFile(file, 'utf8')).toBe(written);
    expect(await readdir(folder)).toEqual(['heddle.yaml']);
  });

  it('is not removed if it does not exist, or without a confirmation', async () => {
    await expect(remove('x', { file, yes: true })).rejects.toMatchObject({ code: 'NotFound' });
    await expect(remove('rack', { file, json: true })).rejects.toMatchObject({ code: 'Usage' });
    expect(await readFile(file, 'utf8')).toBe(written);
  });

  it('has secrets with lines NAME=VALUE; the message names the line without its content', async () => {
    const { descriptors } = await openWorkspace({ file });
    const local = descriptors.find(({ name }) => name === 'local');
    if (local === undefined) throw new Error('local is not there');
    expect(fieldsOfLines(local, '\napiKey=a=b \r\nendpoint=env:E\n')).toEqual({
      apiKey: 'a=b ',
      endpoint: { secret: 'env:E' },
    });
    expect(() => fieldsOfLines(local, 'apiKey=x\nhunter22')).toThrow(
      /^line 2 of standard input is not NAME=VALUE(?!.*hunter)/,
    );
  });

  it('leaves no secret behind if heddle.yaml cannot be written', async () => {
    const workspace = await openWorkspace({ file });
    const draft = { name: 'try', type: 'local', fields: { endpoint: 'https://x', apiKey: 'hunter22' } };
    expect(() =>
      addAccount({ ...workspace, file: join(folder, 'nowhere', 'heddle.yaml') }, draft, { replace: false }),
    ).toThrow(/cannot be written/);
    expect(await readdir(join(folder, 'data', 'secrets'))).toEqual([]);
  });

  it('is refused if its name was taken during the questions; concurrent changes stay', async () => {
    const earlier = await openWorkspace({ file });
    addAccount(
      await openWorkspace({ file }),
      { name: 'try', type: 'docker', fields: { user: 'me' } },
      { replace: false },
    );
    expect(() =>
      addAccount(earlier, { name: 'try', type: 'docker', fields: {} }, { replace: false }),
    ).toThrow(/provider account "try".*already/);
    addAccount(earlier, { name: 'other', type: 'docker', fields: {} }, { replace: false });
    expect(await readFile(file, 'utf8')).toBe(
      `${written}  try:\n    type: docker\n    fields:\n      user: me\n  other:\n    type: docker\n`,
    );
  });

  it('is refused if others can access the data folder', async () => {
    const workspace = await openWorkspace({ file });
    const draft = { name: 'try', type: 'local', fields: { endpoint: 'https://x', apiKey: 'hunter22' } };
    addAccount(workspace, draft, { replace: false });
    await chmod(join(folder, 'data'), 0o755);
    const before = await readFile(file, 'utf8');
    expect(() => addAccount(workspace, { ...draft, name: 'other' }, { replace: false })).toThrow(
      /is accessible to other users/,
    );
    expect(await readFile(file, 'utf8')).toBe(before);
  });

  it('is removed together with its own files only', async () => {
    const outside = join(folder, 'mine');
    await writeFile(outside, 'x');
    const workspace = await openWorkspace({ file });
    addAccount(
      workspace,
      {
        name: 'try',
        type: 'local',
        fields: { endpoint: 'https://x', apiKey: { secret: `file:${outside}` } },
      },
      { replace: false },
    );
    expect(removeSettings(await openWorkspace({ file }), { section: 'providers', name: 'try' })).toEqual([]);
    expect(await readdir(folder)).toContain('mine');
  });

  it('is written to a new file that only its owner may read', async () => {
    const fresh = join(folder, 'new.yaml');
    addAccount(
      await openWorkspace({ file: fresh }),
      { name: 'a', type: 'docker', fields: {} },
      { replace: false },
    );
    expect(await readFile(fresh, 'utf8')).toBe('providers:\n  a:\n    type: docker\n');
    expect((await stat(fresh)).mode & 0o777).toBe(0o600);
  });
});
