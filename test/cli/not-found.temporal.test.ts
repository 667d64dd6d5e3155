import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { describeError } from '../../src/cli/report-error.js';
import { PoolClient } from '../../src/client/index.js';
import { startStack, type Stack } from '../harness/stack.js';

/** The server says that there is no such workflow; no worker is needed. */
describe('names that do not exist', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ temporalAddress: inject('temporalAddress'), distPath: inject('distPath') });
  });
  afterAll(() => stack.stop());

  const reportOf = async (ask: () => Promise<unknown>): Promise<ReturnType<typeof describeError>> =>
    ask().then(() => ({ code: 'Failed', message: 'it is there' }), describeError);

  it.each<readonly [string, string, (stack: Stack) => Promise<unknown>]>([
    ['cluster', 'heddle list', ({ client }) => client.status('nobody')],
    ['pool', 'heddle pool list', ({ client }) => new PoolClient(client.temporal, 'nobody').view()],
    ['pool', 'heddle pool list', ({ client }) => new PoolClient(client.temporal, 'nodes-of-nobody').view()],
    ['image', 'heddle image list', ({ client }) => client.images.show('nobody')],
    ['machine', 'heddle machine list', ({ client }) => client.machines.show('nobody')],
    ['machine', 'heddle machine list', ({ client }) => client.machines.operate('nobody', { kind: 'unload' })],
    ['reservation', 'heddle reservation list --all', ({ client }) => client.reservations.show('nobody')],
  ])('tells of a %s which command shows those there are: %s', async (kind, next, ask) => {
    expect(await reportOf(() => ask(stack))).toMatchObject({
      code: 'NotFound',
      next,
      message: expect.stringMatching(new RegExp(`there is no (such )?${kind}`)),
    });
  });
});
