import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { beforeAll, describe, expect, it } from 'vitest';
import { HeddleClient } from '../../../src/client/index.js';
import { openKeyRing } from '../../../src/secrets/keys.js';
import { heddle } from '../../../src/temporal-plugin.js';
import { host, openGround } from '../../harness/machine/ground.js';
import { startStack, type Stack } from '../../harness/stack.js';

const machines = 8;
const users = Array.from({ length: 200 }, (_, number) => `user-${number}`);
const hour = 3_600_000;

describe('many reservations at once', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
    await stack.startWorker();
    const ground = openGround(stack);
    for (let number = 1; number <= machines; number += 1) await ground.add(`lab-${number}`);
  });

  it('of one client and of a hundred others are all answered by one worker, and each is booked once', async () => {
    const next = Math.ceil(Date.now() / hour) * hour + hour;
    const { connection } = stack.client.temporal;
    const { namespace } = stack;
    const plugin = heddle({
      keys: openKeyRing({ folder: join(stack.folder, 'keys'), create: false }),
      namespace,
    });
    const clientOf = (number: number): HeddleClient =>
      number % 2 === 0
        ? stack.client
        : new HeddleClient(new Client({ connection, namespace, plugins: [plugin] }), {
            by: 'test',
            busyMs: 60_000,
          });
    const create = async (user: string, number: number): Promise<void> => {
      const from = next + Math.floor(number / machines) * hour;
      await clientOf(number).reservations.create({
        image: `${host.name}@${host.revision}`,
        user,
        from: new Date(from).toISOString(),
        to: new Date(from + hour).toISOString(),
      });
    };
    const answers = await Promise.allSettled(users.map(create));
    expect(answers.filter(({ status }) => status === 'rejected')).toEqual([]);
    const booked = await stack.client.reservations.list();
    expect(booked.map(({ user }) => user).toSorted()).toEqual(users.toSorted());
  });
});
