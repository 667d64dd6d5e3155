import { beforeAll, describe, expect, it } from 'vitest';
import { describeError } from '../../src/cli/report-error.js';
import { PoolClient } from '../../src/client/index.js';
import { startStack, type Stack } from '../harness/stack.js';

/** The server reports that the workflow does not exist; no worker is needed. */
describe('names that do not exist', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });

  const reportOf = async (ask: () => Promise<unknown>): Promise<ReturnType<typeof describeError>> =>
    ask().then(() => ({ code: 'Failed', message: 'it is there' }), describeError);

  it.each<readonly [string, string, RegExp, (stack: Stack) => Promise<unknown>]>([
    ['cluster', 'heddle list', /the cluster does not exist/, ({ client }) => client.status('nobody')],
    [
      'pool',
      'heddle pool list',
      /^pool nobody does not exist/,
      ({ client }) => new PoolClient(client.temporal, 'nobody').view(),
    ],
    [
      'pool',
      'heddle pool list',
      /^pool nodes-of-nobody does not exist/,
      ({ client }) => new PoolClient(client.temporal, 'nodes-of-nobody').view(),
    ],
    [
      'image',
      'heddle image list',
      /^image nobody does not exist/,
      ({ client }) => client.images.show('nobody'),
    ],
    [
      'machine',
      'heddle machine list',
      /^machine nobody does not exist/,
      ({ client }) => client.machines.show('nobody'),
    ],
    [
      'machine',
      'heddle machine list',
      /^machine nobody does not exist/,
      ({ client }) => client.machines.operate('nobody', { kind: 'unload' }),
    ],
    [
      'cluster of a node',
      'heddle list',
      /^cluster nobody does not exist/,
      ({ client }) => client.machines.operate('nobody/app-1', { kind: 'unload' }),
    ],
    [
      'pool of a node',
      'heddle pool list',
      /^pool nobody does not exist/,
      ({ client }) => client.machines.operate('pool/nobody/small-1', { kind: 'unload' }),
    ],
    [
      'reservation',
      'heddle reservation list --all',
      /^reservation nobody does not exist/,
      ({ client }) => client.reservations.show('nobody'),
    ],
  ])('names the command that lists the existing ones, for a %s: %s', async (_kind, next, message, ask) => {
    expect(await reportOf(() => ask(stack))).toMatchObject({
      code: 'NotFound',
      next,
      message: expect.stringMatching(message),
    });
  });
});
