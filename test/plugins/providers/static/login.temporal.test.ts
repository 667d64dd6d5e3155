import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSpec } from '../../../../src/schema/cluster/read.js';
import { formatProblem } from '../../../../src/schema/problem.js';
import type { WaitResult } from '../../../../src/client/wait.js';
import { makeHostKey, startNode, type TestNode } from '../../../harness/ssh-server.js';
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
      accounts: {
        other: rack({ port, hostKey: makeHostKey().line }),
        keyless: rack({ port, password: undefined, keyFile: '/no/such/key' }),
        refusing: { ...rack({ port }), limits: {} },
        absent: rack({ port: await freePort() }),
      },
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
        message: expect.stringMatching(/refused the login.*It was refused 3 times$/),
        remedy: 'correct the user, key or password of machine blade-1 of provider refusing in heddle.yaml',
      },
    });
    expect(node.passwords).toEqual(['wrong', 'wrong', 'wrong']);
  });

  it.concurrent('holds its cluster at once if it shows another host key', async () => {
    const { status } = await apply('other');
    expect(status.nodes[0]?.failure).toMatchObject({
      kind: 'Invalid',
      message: expect.stringMatching(/shows host key SHA256:/),
      remedy:
        'if the new host key is genuine, correct `hostKey` of machine blade-1 of provider other in heddle.yaml',
    });
  });

  it.concurrent('holds its cluster at once if its key file is missing', async () => {
    const { status } = await apply('keyless');
    const field = 'keyFile of machine blade-1 of provider keyless in heddle.yaml';
    expect(status.nodes[0]?.failure).toMatchObject({
      kind: 'Auth',
      message: expect.stringContaining(
        `${field}: the secret (file:) cannot be read: /no/such/key: there is no such file`,
      ),
      remedy: `provide the secret to the workers, or correct ${field}`,
    });
  });

  it.concurrent('holds its cluster when the time of the account for an answer is over, and is not allocated again', async () => {
    const { operation, status } = await apply('absent');
    expect(operation.state).toBe('held');
    expect(status.nodes[0]).toMatchObject({
      incarnation: 1,
      failure: {
        action: 'CONFIRM',
        kind: 'MachineFailed',
        message: expect.stringMatching(/ECONNREFUSED.*It has not answered for 8 s$/),
        remedy:
          'switch the machine on, or correct the address and port of machine blade-1 of provider absent in heddle.yaml',
      },
    });
  });
});
