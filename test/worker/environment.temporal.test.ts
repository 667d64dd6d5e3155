import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, expect, inject, test } from 'vitest';
import { startStack, type Stack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const secrets = { HEDDLE_SITE: 'leak', VAULT_TOKEN: 'leak:vault', RACK_PASSWORD: 'leak:account' } as const;

let stack: Stack;
afterAll(() => stack.stop());

const environmentOf = (pid = 0): string => readFileSync(`/proc/${pid}/environ`, 'utf8');

// Promise: worker-environment
test('a program of the same user reads no variable of a running worker', async () => {
  stack = await startStack({
    temporalAddress: inject('temporalAddress'),
    distPath: inject('distPath'),
    env: secrets,
  });
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
