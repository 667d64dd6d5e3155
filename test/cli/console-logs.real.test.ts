import { beforeAll, describe, expect, test } from 'vitest';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { startStack, type Stack } from '../harness/stack.js';
import { closed, nodes } from '../harness/workflows/spec.js';

const missing =
  process.platform === 'linux' && process.getuid?.() === 0 ? undefined : 'sandboxes need root on Linux';

describe.skipIf(missing !== undefined)('the console of a machine that fails to boot', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ kind: 'sandbox' });
    await stack.startWorker();
  });

  test('is shown by heddle logs, and its last line by the failed task', async () => {
    await stack.service.arm({ fault: 'dies', ms: 0, hostname: 'frail-app-1', count: 0 });
    const { operation } = await stack.client.apply(closed({ name: 'frail', nodes: { app: nodes(1, []) } }));
    const { operation: held } = await stack.client.waitFor('frail', operation);
    expect(held.state).toBe('held');
    expect(held.reason).toMatch(
      /CONFIRM of app-1 failed: .*its console is in the task's log, and ends with: \S/,
    );
    const { stdout, code } = await heddleOn(() => stack).run('logs', 'frail', 'app-1', '--action', 'CONFIRM');
    expect(code).toBe(0);
    expect(stdout).toMatch(/info: console of the machine, the last \d+ characters/);
    expect(stdout).toMatch(/\| Server listening on 127\.\d+\.\d+\.\d+ port \d+/);
    const { operation: removal } = await stack.client.delete('frail');
    await stack.client.waitFor('frail', removal ?? '');
  });
});
