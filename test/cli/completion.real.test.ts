import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { runHeddle } from '../harness/cli/run-heddle.js';
import { type Stack, startStack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';

describe('completion in a shell', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ temporalAddress: inject('temporalAddress'), distPath: inject('distPath') });
    await stack.startWorker();
    const { operation } = await stack.client.apply(closed({ name: 'shop', nodes: { app: nodes(2, []) } }));
    await stack.client.waitFor('shop', operation);
  });
  afterAll(() => stack.stop());

  const settings = () => ({
    HEDDLE_CONFIG: join(stack.folder, 'worker.yaml'),
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: stack.namespace,
  });

  it('has the names of clusters and nodes', async () => {
    const ask = async (...words: readonly string[]): Promise<string> =>
      (await runHeddle(['__complete', '--', ...words], { distPath: inject('distPath'), env: settings() }))
        .stdout;
    expect(await ask('status', 's')).toBe('shop\n');
    expect(await ask('replace', 'shop', '')).toBe('app-1\napp-2\n');
    expect(await ask('restart', 'shop', '--nodes=app-1,')).toBe('--nodes=app-1,app-1\n--nodes=app-1,app-2\n');
    expect(await ask('apply', '')).toBe(':files\n');
  });

  it('prints nothing, and no error, without a server', async () => {
    const env = { ...settings(), TEMPORAL_ADDRESS: '127.0.0.1:1' };
    expect(
      await runHeddle(['__complete', '--', 'status', ''], { distPath: inject('distPath'), env }),
    ).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it.each([
    ['heddle sta', ['status', 'start']],
    ['heddle status sh', ['shop']],
    ['heddle restart shop --nodes=app-2', ['app-2']],
    ['heddle config sh', ['show']],
  ])('works in bash: %s', async (line, expected) => {
    const folder = await mkdtemp(join(tmpdir(), 'heddle-complete-'));
    const program = join(folder, 'heddle');
    await writeFile(
      program,
      `#!/bin/sh\nexec '${process.execPath}' '${inject('distPath')}/cli/main.js' "$@"\n`,
    );
    await chmod(program, 0o755);
    const script = `source <(heddle completion bash); COMP_LINE=$1; COMP_POINT=\${#1}; _heddle; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const found = execFileSync('bash', ['-c', script, 'bash', line], {
      encoding: 'utf8',
      env: { ...settings(), PATH: `${folder}:/usr/bin:/bin`, HOME: folder },
    });
    expect(found.trim().split('\n')).toEqual(expected);
    await rm(folder, { recursive: true });
  });
});
