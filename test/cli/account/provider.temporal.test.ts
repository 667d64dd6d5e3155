import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { type Ended, runHeddle } from '../../harness/cli/run-heddle.js';
import { freePort } from '../../harness/free-port.js';
import { makeHostKey, startNode } from '../../harness/ssh-server.js';
import { newFolder } from '../../harness/folder.js';

const written = `# ours
providers:
  rack: {type: static, fields: {inventory: ./rack.yaml}} # in the cellar
`;

describe('heddle provider', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = newFolder();
    file = join(folder, 'heddle.yaml');
    await writeFile(file, written, { mode: 0o640 });
    await chmod(file, 0o640);
  });

  const run = (words: readonly string[], stdin?: string): Promise<Ended> =>
    runHeddle(['provider', ...words], {
      distPath: inject('distPath'),
      cwd: folder,
      env: { HEDDLE_DATA_FOLDER: join(folder, 'data'), TEMPORAL_ADDRESS: '127.0.0.1:1' },
      stdin,
    });
  const read = (...path: readonly string[]): Promise<string> => readFile(join(folder, ...path), 'utf8');
  const mode = async (...path: readonly string[]): Promise<number> =>
    (await stat(join(folder, ...path))).mode & 0o777;
  const endpoint = ['--type', 'local', '--field', 'endpoint=http://127.0.0.1:1'];

  it('stores a secret in a file of its own, and leaves the rest of heddle.yaml unchanged', async () => {
    const ended = await run(
      ['add', 'try', ...endpoint, '--secrets-from', '-', '--site', 'lab'],
      'apiKey=hunter22 = x\n',
    );
    expect(ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Running workers apply this heddle.yaml'),
    });
    expect(ended.stdout + ended.stderr).not.toContain('hunter22');
    expect(await read('data', 'secrets', 'try', 'apiKey')).toBe('hunter22 = x\n');
    expect([
      await mode('data', 'secrets'),
      await mode('data', 'secrets', 'try'),
      await mode('data', 'secrets', 'try', 'apiKey'),
    ]).toEqual([0o700, 0o700, 0o600]);
    const text = await read('heddle.yaml');
    expect(text.startsWith(written)).toBe(true);
    expect(text).toContain(`secret: file:${join(folder, 'data', 'secrets', 'try', 'apiKey')}`);
    expect(await mode('heddle.yaml')).toBe(0o640);
    expect((await readdir(folder)).toSorted()).toEqual(['data', 'heddle.yaml']);

    const { stdout } = await run(['list', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      providers: [
        { name: 'rack', fields: { inventory: './rack.yaml' } },
        {
          name: 'try',
          type: 'local',
          site: 'lab',
          fields: { endpoint: 'http://127.0.0.1:1', apiKey: '(secret)' },
        },
      ],
    });
    expect(await run(['remove', 'try', '--yes'])).toMatchObject({ code: 0 });
    expect(await read('heddle.yaml')).toBe(written);
    expect(await readdir(join(folder, 'data', 'secrets'))).toEqual([]);
  });

  it('accepts a secret on the command line only as a reference, and names the alternatives', async () => {
    const ended = await run(['add', 'try', ...endpoint, '--field', 'apiKey=hunter22']);
    expect(ended).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/must not be on the command line.*apiKey=REFERENCE.*--secrets-from -/),
    });
    expect(ended.stderr).not.toContain('hunter22');
    expect(await run(['add', 'try', ...endpoint, '--secrets-from', '-'], 'hunter22')).toMatchObject({
      code: 2,
      stderr: expect.not.stringContaining('hunter22'),
    });
    expect(await read('heddle.yaml')).toBe(written);
    const { code, stdout } = await run([
      'add',
      'try',
      ...endpoint,
      '--field',
      'apiKey=vault:secret/data/heddle#key',
      '--json',
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ provider: 'try', stored: [] });
    expect(await read('heddle.yaml')).toContain('secret: vault:secret/data/heddle#key');
    expect(await readdir(folder)).not.toContain('data');
  });

  it('rewrites an account with --replace, and removes secrets that are no longer referenced', async () => {
    await run(['add', 'try', ...endpoint, '--secrets-from', '-'], 'apiKey=hunter22');
    expect(await run(['add', 'try', '--type', 'docker', '--replace'])).toMatchObject({ code: 0 });
    expect(await read('heddle.yaml')).toBe(`${written}  try:\n    type: docker\n`);
    expect(await readdir(join(folder, 'data', 'secrets'))).toEqual([]);
  });

  it('follows a link to the actual file', async () => {
    await mkdir(join(folder, 'kept'));
    await writeFile(join(folder, 'kept', 'real.yaml'), written);
    await symlink(join('kept', 'real.yaml'), join(folder, 'link.yaml'));
    expect(await run(['add', 'a', '--type', 'docker', '--file', 'link.yaml'])).toMatchObject({ code: 0 });
    expect(await read('kept', 'real.yaml')).toContain('  a:\n    type: docker\n');
    expect(await readdir(join(folder, 'kept'))).toEqual(['real.yaml']);
  });

  it('tests an account with the secrets of this computer, and fails if the provider does', async () => {
    expect(await run(['test', 'rack'])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^rack: .*rack\.yaml/),
    });
    const [node, second, third] = await Promise.all([startNode(), startNode(), startNode()]);
    try {
      const { host: address, port, user, password, hostKey } = node.target;
      const machine = (name: string, more: object): object => ({ name, address, user, hostKey, ...more });
      const write = (...machines: readonly object[]): Promise<void> =>
        writeFile(join(folder, 'rack.yaml'), JSON.stringify({ machines }));
      const secret = join(folder, 'password');
      await writeFile(secret, password ?? '');
      const right = machine('right', { port, password: { secret: `file:${secret}` } });
      await write(right);
      const { code, stdout } = await run(['test', 'rack', '--json']);
      expect({ code, ...JSON.parse(stdout) }).toMatchObject({
        code: 0,
        provider: 'rack',
        works: true,
        says: 'The login to its machine succeeded.',
      });
      await writeFile(`${secret}-2`, 'hunter22');
      await write(
        right,
        machine('wrong', {
          port: second.target.port,
          hostKey: second.target.hostKey,
          password: { secret: `file:${secret}-2` },
        }),
        machine('absent', { port: await freePort(), password: { secret: `file:${secret}` } }),
        machine('other', {
          port: third.target.port,
          hostKey: makeHostKey().line,
          password: { secret: `file:${secret}` },
        }),
        machine('keyless', { port: 1, keyFile: join(folder, 'no-key') }),
        machine('badkey', { port: 2, keyFile: secret }),
        machine('nameless', { port: 3, address: 'no-such-host.invalid', keyFile: secret }),
      );
      const failed = await run(['test', 'rack']);
      expect(failed.code).toBe(1);
      expect(failed.stdout).toMatch(/6 of 7 machines failed/);
      expect(failed.stdout).toMatch(/wrong: .*refused the login.*check the user and the key or password/);
      expect(failed.stdout).toMatch(new RegExp(`absent: cannot reach .*${address}.*ECONNREFUSED`));
      const inventory = './rack.yaml';
      for (const [name, cause, remedy] of [
        [
          'wrong',
          'refused the login',
          `correct the user, key or password of machine wrong in inventory ${inventory}`,
        ],
        [
          'absent',
          'ECONNREFUSED',
          `correct the address and port of machine absent in inventory ${inventory}`,
        ],
        ['other', 'shows host key SHA256', `correct \`hostKey\` of machine other in inventory ${inventory}`],
        [
          'keyless',
          'no-key: there is no such file',
          `correct keyFile of machine keyless in inventory ${inventory}`,
        ],
        [
          'badkey',
          'the private key for',
          `replace the private key of machine badkey in inventory ${inventory}`,
        ],
        ['nameless', 'no-such-host.invalid', 'correct `address` of machine nameless of provider rack'],
      ] as const) {
        const [, said = '', next = ''] =
          new RegExp(`\\n  ${name}: (.*)\\n    next: (.*)`).exec(failed.stdout) ?? [];
        expect(said).toContain(cause);
        expect(next).toContain(remedy);
      }
      expect(failed.stdout).not.toContain('hunter22');
    } finally {
      await Promise.all([node.close(), second.close(), third.close()]);
    }
    expect(await run(['test', 'nosuch'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('has no provider account "nosuch"'),
    });
  });

  it('asks before a removal also where no server tells what uses the account', async () => {
    expect(await run(['remove', 'rack', '--file', 'heddle.yaml'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/It is unknown whether anything uses it.*without one, pass --yes/),
    });
    expect(await read('heddle.yaml')).toBe(written);
  });
});
