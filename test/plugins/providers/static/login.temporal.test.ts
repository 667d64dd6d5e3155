import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSpec } from '../../../../src/schema/cluster/read.js';
import { formatProblem } from '../../../../src/schema/problem.js';
import type { WaitResult } from '../../../../src/client/wait.js';
import { startNode, type TestNode } from '../../../harness/ssh-server.js';
import { type Stack, startStack } from '../../../harness/stack.js';
import { freePort } from '../../../harness/free-port.js';

describe('a machine that exists', () => {
  let stack: Stack;
  let node: TestNode;
  beforeAll(async () => {
    node = await startNode();
    const { host: address, port, user, hostKey } = node.target;
    const rack = (machine: object): object => ({
      type: 'static',
      fields: { machines: [{ name: 'blade-1', address, user, hostKey, password: 'wrong', ...machine }] },
      limits: { confirmWithin: '8s' },
    });
    stack = await startStack({
      accounts: { refusing: { ...rack({ port }), limits: {} }, absent: rack({ port: await freePort() }) },
    });
    await stack.startWorker();
  });
  afterAll(async () => {
    await stack.stop();
    await node.close();
  });

  async function apply(provider: string): Promise<WaitResult> {
    const parsed = parseSpec({ name: provider, nodes: { app: { count: 1, provider } } });
    if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join('\n'));
    const { operation } = await stack.client.apply(parsed.spec);
    return stack.client.waitFor(provider, operation);
  }

  it.concurrent('holds its cluster after three refused logins, and is not allocated again', async () => {
    const { operation, status } = await apply('refusing');
    expect(operation.state).toBe('held');
    expect(status.nodes[0]).toMatchObject({
      incarnation: 1,
      failure: {
        action: 'CONFIRM',
        kind: 'Auth',
        message: expect.stringMatching(/refused the login.*It was refused 3 times; correct its entry/),
      },
    });
    expect(node.passwords).toEqual(['wrong', 'wrong', 'wrong']);
  });

  it.concurrent('holds its cluster when the time of the account for an answer is over, and is not allocated again', async () => {
    const { operation, status } = await apply('absent');
    expect(operation.state).toBe('held');
    expect(status.nodes[0]).toMatchObject({
      incarnation: 1,
      failure: {
        action: 'CONFIRM',
        kind: 'MachineFailed',
        message: expect.stringMatching(/ECONNREFUSED.*It has not answered for 8 s; switch it on/),
      },
    });
  });
});
