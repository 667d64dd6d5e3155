import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { startStack, type Stack } from '../harness/stack.js';

/** What the worker finds in its environment and on its disk is checked, never shown. */
const secret = 'hunter2-and-more';

describe('a plan', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({
      config: { secrets: { allow: ['env:*', 'file:*', 'exec:touch *'] } },
      accounts: {
        dark: {
          type: 'local',
          fields: { endpoint: 'http://127.0.0.1:1', apiKey: { secret: 'env:NO_API_KEY' } },
        },
        keyless: {
          type: 'static',
          fields: {
            keyFile: '/no/such/key',
            machines: [
              { name: 'm2', address: '127.0.0.2', user: 'root' },
              { name: 'm3', address: '127.0.0.3', user: 'root', keyFile: '/usr/share' },
            ],
          },
        },
        rack: {
          type: 'static',
          fields: {
            user: 'root',
            agent: '/nowhere',
            machines: [
              { name: 'm1', address: '127.0.0.1', flavor: 'big', image: 'debian' },
              { name: 'm4', address: '127.0.0.4', flavor: 'tiny', image: 'debian' },
              // Its login matters only to plans that create a node of this flavor.
              { name: 'm5', address: '127.0.0.5', flavor: 'odd', image: 'debian', keyFile: '/no/such/key' },
            ],
          },
        },
      },
    });
    await stack.startWorker();
  });
  const { run, json } = heddleOn(() => stack);

  function write(name: string, text: string): string {
    const file = join(stack.folder, `${name}.yaml`);
    writeFileSync(file, `name: ${name}\n${text}`);
    return file;
  }

  it('refuses hardware, images, pools and labels that do not exist, with their places', async () => {
    const file = write(
      'wrong',
      `nodes:
  a: {count: 1, provider: local, hardware: tony, image: host}
  b: {count: 1, provider: local, hardware: tiny, image: ghost, alternatives: [{provider: local, hardware: huge, image: host}]}
  c: {count: 1, pool: none, label: small}
  d: {count: 1, provider: rack, hardware: small, image: debian}
`,
    );
    for (const verb of ['plan', 'apply']) {
      const { code, stderr } = await run(verb, file);
      expect(code).toBe(2);
      expect(stderr).toMatch(
        /wrong\.yaml:3:34: nodes\.a\.hardware: provider local has no hardware "tony"\. Did you mean "tiny"\?/,
      );
      expect(stderr).toMatch(/wrong\.yaml:4:50: nodes\.b\.image: provider local has no image "ghost"/);
      expect(stderr).toMatch(
        /wrong\.yaml:4:97: nodes\.b\.alternatives\[0\]\.hardware: provider local has no hardware "huge"/,
      );
      expect(stderr).toMatch(/wrong\.yaml:5:17: nodes\.c\.pool: pool none does not exist/);
      expect(stderr).toMatch(/wrong\.yaml:6:33: nodes\.d\.hardware: provider rack has no hardware "small"/);
    }
    expect(await stack.client.list()).toEqual([]);
  });

  it('refuses secrets that workers of the site cannot read, and shows none', async () => {
    const readable = join(stack.folder, 'token');
    writeFileSync(readable, `${secret}\n`);
    const text = (
      variable: string,
      file: string,
    ): string => `variables: {key: {secret: true, default: {secret: "${variable}"}}}
nodes: {app: {count: 1, provider: local, hardware: tiny, image: host, services: [web]}}
services:
  web:
    actions:
      install: {type: shell, fields: {script: 'true \${{ var.key }}', environment: {A: {secret: "file:${file}"}, B: {secret: "exec:touch ${stack.folder}/ran"}}}}
`;
    const wrong = await run('plan', write('secrets', text('env:NO_SUCH_KEY', '/nonexistent/token')));
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toMatch(
      /secrets\.yaml:2:13: variables\.key: the secret \(env:\) cannot be read: the environment variable NO_SUCH_KEY is not set/,
    );
    expect(wrong.stderr).toMatch(
      /secrets\.yaml:7:\d+: services\.web\.actions\.install\.fields\.environment\.A: the secret \(file:\) cannot be read/,
    );
    expect(wrong.stderr).not.toContain('ran');
    const right = await run('plan', write('secrets', text('env:HOME', readable)), '--json');
    expect(right).toMatchObject({ code: 0 });
    expect(right.stdout).not.toContain(secret);
    const account = await run(
      'plan',
      write('dark', 'nodes: {app: {count: 1, provider: dark, hardware: tiny, image: host}}\n'),
    );
    expect(account.stderr).toMatch(
      /dark\.yaml:2:25: nodes\.app\.provider: fields of provider dark\.apiKey: the secret \(env:\) cannot be read/,
    );
  });

  it('refuses an account whose key files workers cannot read, unless it gets no machine from it', async () => {
    const file = write('keyless', 'nodes: {app: {count: 1, provider: keyless, hardware: any, image: any}}\n');
    const { code, stderr } = await run('apply', file);
    expect(code).toBe(2);
    const place = /keyless\.yaml:2:25: nodes\.app\.provider: /.source;
    for (const [field, wrong] of [
      ['keyFile of provider keyless in heddle.yaml', '/no/such/key: there is no such file'],
      ['keyFile of machine m3 of provider keyless in heddle.yaml', '/usr/share is not a regular file'],
    ] as const)
      expect(stderr).toMatch(new RegExp(`${place}${field}: the secret \\(file:\\) cannot be read: ${wrong}`));
    expect(await stack.client.list()).toEqual([]);
  });

  it('refuses more nodes than there are free machines, but not nodes that may be missing or elsewhere', async () => {
    const group = (name: string, hardware: string, more: string): string =>
      `  ${name}: {provider: rack, hardware: ${hardware}, image: debian, ${more}}\n`;
    const refusal = async (...groups: readonly string[]): Promise<string> =>
      (await run('plan', write('many', `nodes:\n${groups.join('')}`))).stderr;
    expect(await refusal(group('a', 'big', 'count: 2'))).toMatch(
      /many\.yaml:3:\d+: nodes\.a\.count: provider rack has 1 free machine of this hardware and image, and 2 are needed/,
    );
    expect(await refusal(group('a', 'big', 'count: 1'), group('b', 'big', 'count: 1'))).toMatch(
      /nodes\.b\.count: provider rack has 1 free machine/,
    );
    const tolerant = [
      group('a', 'big', 'count: 1'),
      group('b', 'tiny', 'count: 2, minimum: 1'),
      group('c', 'big', 'count: 2, alternatives: [{provider: local, hardware: tiny, image: host}]'),
    ];
    expect(await refusal(...tolerant)).toBe('');
  });

  it('refuses names that no variable of an environment can have', async () => {
    const file = write(
      'names',
      `nodes: {app: {count: 1, provider: local, hardware: tiny, image: host, services: [web]}}
services: {web: {actions: {install: {type: shell, fields: {script: 'true', environment: {2BAD: x, B-C: y, HEDDLE_NODE: z, GOOD_1: w}}}}}}
`,
    );
    const { code, stderr } = await run('plan', file);
    expect(code).toBe(2);
    for (const name of ['2BAD', 'B-C', 'HEDDLE_NODE']) expect(stderr).toContain(name);
    expect(stderr).not.toContain('GOOD_1');
    expect(stderr).toMatch(/names\.yaml:3:\d+: services\.web\.actions\.install\.fields\.environment/);
  });

  it('of a right file has no problems', async () => {
    const file = write(
      'right',
      'nodes: {app: {count: 1, provider: local, hardware: tiny, image: host}, rack: {count: 1, provider: rack, hardware: big, image: debian}}\n',
    );
    expect(await json('plan', file)).toMatchObject({ changes: true, warnings: [] });
  });
});
