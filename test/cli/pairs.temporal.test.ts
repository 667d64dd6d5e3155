import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { heddleOn } from '../harness/cli/run-heddle.js';
import { startStack, type Stack } from '../harness/stack.js';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
  await stack.startWorker();
});
const heddle = heddleOn(() => stack);
const newName = (): string => `m-${randomUUID().slice(0, 8)}`;

describe('fields of a machine on the command line', () => {
  it.each([
    ['a reserved name', '__proto__=x', '--field: __proto__ is a reserved name. Use another one.'],
    ['a reserved name in its value', 'machine={"constructor": 1}', 'must not have a field named constructor'],
  ])('are refused with %s, and nothing is registered', async (_what, field, said) => {
    const name = newName();
    const ended = await heddle.run('machine', 'add', name, '--provider', 'local', '--field', field);
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(said) });
    await expect(stack.client.machines.show(name)).rejects.toMatchObject({ code: 'NotFound' });
  });
});

describe('a wait for a machine', () => {
  it('ends if its workflow has failed, and says why', async () => {
    const name = newName();
    await stack.client.temporal.connection.workflowService.startWorkflowExecution({
      namespace: stack.client.temporal.options.namespace,
      workflowId: `machine/${name}`,
      requestId: name,
      workflowType: { name: 'machine' },
      taskQueue: { name: 'heddle' },
    });
    await expect(stack.client.machines.waitFor(name, '1')).rejects.toMatchObject({
      code: 'Failed',
      message: expect.stringMatching(
        new RegExp(`^workflow machine/${name} failed: .*was not sent by Heddle's client`),
      ),
    });
  });
});
