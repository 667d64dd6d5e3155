import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { startStack, type Stack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const secrets = { HEDDLE_SITE: 'leak', VAULT_TOKEN: 'leak:vault', RACK_PASSWORD: 'leak:account' } as const;

let stack: Stack;

const environmentOf = (pid = 0): string => readFileSync(`/proc/${pid}/environ`, 'utf8');

// Promise: worker-environment
test('a program of the same user reads no variable of a running worker', async () => {
  stack = await startStack({ env: secrets });
  // Any other process shows what it was started with.
  const other = spawn('/bin/sleep', ['600'], { env: secrets });
  try {
    expect(environmentOf(other.pid)).toContain('leak:vault');
  } finally {
    other.kill();
  }
  const worker = await stack.startWorker();
  expect(environmentOf(worker.pid)).toMatch(/^\0+$/);
  // The worker itself still has them: it serves the site that a variable names.
  expect(worker.output()).toContain('heddle.leak');
  const spec = closed({ name: 'web', nodes: { app: nodes(1, []) } });
  const { operation } = await stack.client.apply(spec);
  expect(await stack.client.waitFor('web', operation)).toMatchObject({ operation: { state: 'done' } });
});

/** Without /proc, as in a sandbox that hides it, nothing can be overwritten. */
const withoutProc = [
  'unshare',
  ...(process.getuid?.() === 0 ? [] : ['--map-root-user']),
  ...['--mount', '--propagation', 'private', 'sh', '-c', 'mount -t tmpfs none /proc && exec "$@"', 'sh'],
];
const [program = '', ...words] = withoutProc;
const mayHide = spawnSync(program, [...words, 'true']).status === 0;

test.skipIf(!mayHide)('a worker that cannot overwrite its environment warns of it', () => {
  const main = join(inject('distPath'), 'worker', 'main.js');
  const config = join(stack.folder, 'worker.yaml');
  // It ends by itself, because no server answers.
  const started = spawnSync(program, [...words, process.execPath, main, '--config', config], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin', HOME: stack.folder, TEMPORAL_ADDRESS: '127.0.0.1:1', ...secrets },
    timeout: 120_000,
  });
  expect(started.stderr).toContain('The worker did not start');
  expect(started.stderr).toMatch(
    /programs of this user can read the environment of this process in \/proc\//,
  );
});
