import { spawnSync } from 'node:child_process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { probe } from '../../src/ssh/probe.js';
import { startNode, type TestNode } from '../harness/ssh-server.js';

let node: TestNode;
beforeEach(async () => {
  node = await startNode();
});
afterEach(() => node.close());

test('returns the boot id of the machine, the same at every probe', async () => {
  const first = await probe(node.target);
  expect(first.bootId).toMatch(/^\S*\/\S+$/);
  expect(await probe(node.target)).toEqual(first);
});

test('ignores the output of a login script', async () => {
  const { bootId } = await probe(node.target);
  node.faults.noise = 'welcome 123';
  expect((await probe(node.target)).bootId).toBe(bootId);
});

test('a login that runs no commands still answers', async () => {
  node.faults.loginShell = ['/bin/echo', 'no commands here'];
  expect(await probe(node.target)).toEqual({ hostKey: node.target.hostKey });
});

test('leaves no connection behind', async () => {
  await probe(node.target);
  node.faults.stall = true;
  await expect(probe(node.target, { timeoutMs: 500 })).rejects.toMatchObject({ kind: 'Retryable' });
  await expect.poll(() => node.connections).toEqual({ total: 2, open: 0 });
});

const unshared = spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0;
test.runIf(process.platform === 'linux' && unshared)(
  'distinguishes containers that share a kernel',
  async () => {
    const { bootId } = await probe(node.target);
    node.faults.loginShell = ['unshare', '--pid', '--fork', '--mount-proc', 'sh', '-c'];
    const inside = await probe(node.target);
    expect(inside.bootId).toBeDefined();
    expect(inside.bootId).not.toBe(bootId);
  },
);
