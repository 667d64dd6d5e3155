import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { startStack, type Stack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
  await stack.startWorker();
});

test.each([
  ['keys', 'keys/key'],
  ['data folder', 'worker/secrets/local/apiKey'],
  ['configuration', 'worker.yaml'],
])('a cluster file cannot refer to the %s of a worker', async (_what, path) => {
  const config = { token: { secret: `file:${join(stack.folder, path)}` } };
  const { operation } = await stack.client.apply(
    closed({ name: 'thief', nodes: { app: nodes(1, []) }, config }),
  );
  const ended = await stack.client.waitFor('thief', operation);
  expect(JSON.stringify(ended)).toContain(
    'config.token: refers to a secret that cluster files may not use here',
  );
});
