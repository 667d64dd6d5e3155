import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { startStack, type Stack } from '../harness/stack.js';
import { until } from '../harness/until.js';

const secret = 'hunter2-and-more';

describe('variables and outputs of clusters', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
  });
  const { run, json } = heddleOn(() => stack);

  function write(name: string, text: string): string {
    const file = join(stack.folder, `${name}.yaml`);
    writeFileSync(file, text);
    return file;
  }
  const seen = (name: string): string => readFileSync(join(stack.folder, name), 'utf8');

  it('reach the scripts of tasks, with the values of nodes, and secrets are shown nowhere', async () => {
    mkdirSync(join(stack.folder, 'web'));
    const action = 'type: shell, fields: {script: {file: run.sh}, environment: {TOKEN: "${{ var.token }}"}}';
    writeFileSync(join(stack.folder, 'web', 'service.yaml'), `actions: {configure: {${action}}}\n`);
    writeFileSync(
      join(stack.folder, 'web', 'run.sh'),
      `own=\${TOKEN:-none}
echo "the token is $TOKEN, \${{ var.token }}"
others='\${{ word(nodes.app-2.hostname) }} \${{ services.web.nodenum }}'
echo "$own \${{ var.greeting }} \${{ node.id }} $others" '$\${{ x }}' >> ${join(stack.folder, 'values')}
`,
    );
    const file = write(
      'values',
      `name: values
include: [web]
variables: {token: {secret: true}, greeting: {allowed: [hello, good day]}, size: {type: number, default: 2}}
nodes: {app: {count: "\${{ var.size }}", provider: local, hardware: tiny, image: host, services: [web]}}
`,
    );
    const unset = await run('apply', file);
    expect(unset).toMatchObject({ code: 2 });
    expect(unset.stderr).toMatch(/values\.yaml:3:13: variables\.token: has no value/);
    expect(unset.stderr).toMatch(/values\.yaml:3:36: variables\.greeting: has no value/);

    const given = write('given', 'greeting: good day\n');
    const words = [file, '--var-file', given, '--var', `token=${secret}`] as const;
    const planned = await run('plan', ...words, '--json');
    expect(planned).toMatchObject({ code: 0 });
    expect(planned.stdout).not.toContain(secret);
    const applied = await run('apply', ...words);
    expect(applied, applied.stderr).toMatchObject({ code: 0 });
    expect(seen('values').split('\n').toSorted()).toEqual([
      '',
      `${secret} good day app-1 values-app-2 1 2 \${{ x }}`,
      `${secret} good day app-2 values-app-2 1 2 \${{ x }}`,
    ]);
    const shown = [applied.stdout];
    for (const verb of [
      'status values --json',
      'logs values',
      'task show values app-1/web/CONFIGURE --json',
      'history values --json',
    ]) {
      const ended = await run(...verb.split(' '));
      expect(ended, ended.stderr).toMatchObject({ code: 0 });
      shown.push(ended.stdout);
    }
    expect(shown.join('\n')).not.toContain(secret);
    expect(shown[2]).toContain('the token is (secret), (secret)');
    await json('delete', 'values', '--yes');
  });

  it('show no secret in plans, errors, states and the history of the workflow', async () => {
    const spec = (more: string): string =>
      write(
        'leaky',
        `name: leaky
variables: {token: {secret: true}}
nodes: {app: {count: 1, provider: local, hardware: tiny, image: host, services: [web]}}
services: {web: {actions: {start: {type: shell, fields: {environment: {TOKEN: "\${{ var.token }}"}, script: '
  echo "cannot log in with $TOKEN" >&2; echo "{\\"token\\": \\"$TOKEN\\"}" > "$HEDDLE_RESULT"; ${more}'}}}}}
`,
      );
    const given = ['--var', `token=${secret}`] as const;
    const shown: string[] = [];
    const show = async (code: number, ...words: readonly string[]): Promise<string> => {
      const ended = await run(...words);
      expect(ended, words.join(' ')).toMatchObject({ code });
      shown.push(ended.stdout, ended.stderr);
      return ended.stdout + ended.stderr;
    };
    await show(0, 'plan', spec('exit 3'), ...given);
    expect(await show(1, 'apply', spec('exit 3'), ...given)).toContain('cannot log in with (secret)');
    for (const words of ['status leaky', 'status leaky --json', 'history leaky', 'logs leaky'])
      await show(0, ...words.split(' '));
    await show(0, 'task', 'show', 'leaky', 'app-1/web/START', '--json');
    await show(0, 'plan', spec('exit 0'), '--var', `token=${secret}-two`);
    await show(2, 'plan', spec('exit 0'), '--var', `tokn=${secret}`);
    expect(shown.join('\n')).not.toContain(secret);

    const handle = stack.client.temporal.workflow.getHandle('cluster/leaky');
    const { events } = await handle.fetchHistory();
    expect(textsIn(events).join('\n')).not.toContain(secret);
    await json('delete', 'leaky', '--yes');
  });

  it('the command asks for them on a terminal, for secrets without showing them', async () => {
    const file = write(
      'asked',
      `name: asked
variables: {size: {type: number, description: How many nodes.}, token: {secret: true}}
nodes: {app: {count: "\${{ var.size }}", provider: none}}
`,
    );
    const words = [process.execPath, join(inject('distPath'), 'cli', 'main.js'), 'plan', file].join(' ');
    const child = spawn('script', ['-qec', words, '/dev/null'], {
      env: {
        PATH: '/usr/bin:/bin',
        HOME: '/nonexistent',
        TERM: 'dumb',
        HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: stack.namespace,
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const closed = once(child, 'close');
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    await until('the size is asked for', () => output.includes('size: '));
    child.stdin.write('3\n');
    await until('the token is asked for', () => output.includes('token: '));
    child.stdin.write(`${secret}\n`);
    await closed;
    expect(output).toContain('How many nodes.');
    expect(output).toContain('names provider "none", which the workers do not have');
    expect(output).not.toContain(secret);
  });

  it('a variable is kept for the removal of the service that is removed with it', async () => {
    const left = join(stack.folder, 'left');
    const text = (variables: string, services: string): string =>
      `name: going\n${variables}nodes: {app: {count: 1, provider: local, hardware: tiny, image: host, services: [stays${services}]}}\n`;
    const remove = `{remove: {type: shell, fields: {script: 'echo "\${{ var.token }}" > ${left}'}}, install: {type: shell, fields: {script: 'true'}}}`;
    const first = write(
      'going',
      `${text('variables: {token: {secret: true}}\n', ', goes')}services: {stays: {}, goes: {actions: ${remove}}}\n`,
    );
    expect(await run('apply', first, '--var', `token=${secret}`)).toMatchObject({ code: 0 });
    expect(await run('apply', write('going', `${text('', '')}services: {stays: {}}\n`))).toMatchObject({
      code: 0,
    });
    expect(seen('left')).toBe(`${secret}\n`);
    await json('delete', 'going', '--yes');
  });

  // Promise: unfit-imports-held
  it('of one cluster are values of another, which is configured again when they change, and held when they do not fit', async () => {
    const producer = (port: number | string): string =>
      write(
        'db',
        `name: db
nodes: {app: {count: 1, provider: local, hardware: tiny, image: host, services: [db]}}
services: {db: {actions: {configure: {type: shell, fields: {script: 'printf "db-password=${secret}\\\\nport=${port}\\\\n" > "$HEDDLE_RESULT"'}}}}}
outputs:
  url: "db://\${{ nodes.app-1.ipaddress }}:\${{ nodes.app-1.port }}"
  password: {value: "\${{ nodes.app-1.db-password }}", secret: true}
  none: \${{ nodes.app-1.none }}
`,
      );
    const reader = write(
      'reader',
      `name: reader
variables: {url: {from: cluster/db}, password: {from: cluster/db}}
nodes: {app: {count: 1, provider: local, hardware: tiny, image: host, services: [app, other]}}
services:
  app: {actions: {configure: {type: shell, fields: {environment: {PASSWORD: "\${{ var.password }}"}, script: 'echo "\${{ word(var.url) }} $PASSWORD" >> ${join(stack.folder, 'read')}; echo "password: $PASSWORD"'}}}}
  other: {actions: {configure: {type: shell, fields: {script: 'echo other >> ${join(stack.folder, 'read')}'}}}}
`,
    );
    const early = await run('plan', reader);
    expect(early).toMatchObject({ code: 2 });
    expect(early.stderr).toMatch(
      /reader\.yaml:2:13: variables\.url: takes its value from cluster db, which does not exist/,
    );

    expect(await run('apply', producer(1))).toMatchObject({ code: 0 });
    expect((await run('output', 'db')).stdout).toMatch(
      /url +db:\/\/127\.\S+:1\npassword +\(secret\)\nnone +\(none: nodes\.app-1 has no none\)/,
    );
    expect((await run('output', 'db', 'password')).stdout).toBe(`${secret}\n`);
    expect(await json('output', 'db')).toMatchObject({ outputs: { password: { secret: true } } });
    expect(await run('output', 'db', 'nose')).toMatchObject({ code: 4 });

    expect(await run('apply', reader)).toMatchObject({ code: 0 });
    expect(await run('apply', producer(2))).toMatchObject({ code: 0 });
    await until('the reader configures itself again', () => /:2 /.test(seen('read')));
    const lines = seen('read').split('\n');
    expect(lines.filter((line) => line === 'other')).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith('db://'))).toEqual([
      expect.stringMatching(`:1 ${secret}$`),
      expect.stringMatching(`:2 ${secret}$`),
    ]);
    await until(
      'the reader is at rest',
      async () => (await stack.client.status('reader')).operation === undefined,
    );
    const { history } = await stack.client.status('reader');
    expect(history[0]).toMatchObject({
      kind: 'apply',
      by: 'a changed output of another cluster',
      state: 'done',
    });
    expect((await run('logs', 'reader')).stdout).not.toContain(secret);

    expect(await run('apply', producer(2))).toMatchObject({ code: 0 });
    expect((await stack.client.status('reader')).history).toHaveLength(history.length);

    // A value that does not fit holds the reader; one that fits replaces the held operation.
    expect(await run('apply', producer('3;id'))).toMatchObject({ code: 0 });
    const held = async (): Promise<unknown> => (await stack.client.status('reader')).operation;
    await until('the reader is held', async () => ((await held()) as { state?: string })?.state === 'held');
    expect(await held()).toMatchObject({
      cause: 'output',
      reason: expect.stringMatching(
        /variables\.url: takes its value from output url of cluster db, and "db:\S+:3;id" is not a word/,
      ) as string,
    });
    expect(await run('apply', producer(4))).toMatchObject({ code: 0 });
    await until('the reader configures itself again', () => /:4 /.test(seen('read')));
    expect(seen('read')).not.toContain(':3');
    await until('the reader is at rest', async () => (await held()) === undefined);

    const script =
      'echo "${{ var.url }} ${{ nodes.app-1.ipaddress }} ${{ word(node.ipaddress) }} ${{ node.id }}"';
    const pasting = write(
      'pasting',
      `name: pasting
variables: {url: {from: cluster/db}}
nodes: {app: {count: 1, provider: local, hardware: tiny, image: host, services: [app]}}
services: {app: {actions: {configure: {type: shell, fields: {script: '${script}'}}}}}
`,
    );
    const pasted = await run('plan', pasting);
    expect(pasted).toMatchObject({ code: 2 });
    expect(pasted.stderr.match(/pasting\.yaml:4:\d+: .*/g)).toEqual([
      expect.stringContaining(
        'fields.script: ${{ var.url }} is a value of another cluster, and the field script is code, which such a value could alter. Pass it in a data field (data, arguments, environment), or write ${{ word(var.url) }}',
      ),
      expect.stringContaining('${{ nodes.app-1.ipaddress }} is a value that a node or its provider reports'),
    ]);

    const circle = write(
      'circle',
      `name: db
variables: {none: {from: cluster/reader}}
nodes: {app: {count: 1, provider: local, hardware: tiny, image: host, services: [db]}}
services: {db: {}}
`,
    );
    const refused = await run('plan', circle);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain(
      'circle.yaml:2:20: variables.none.from: takes its value from cluster reader, which uses outputs of db.',
    );
    await json('delete', 'reader', '--yes');
    await json('delete', 'db', '--yes');
  });
});

/** All texts in a value, and what its bytes are as text. */
function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (value instanceof Uint8Array) return [Buffer.from(value).toString('utf8')];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
