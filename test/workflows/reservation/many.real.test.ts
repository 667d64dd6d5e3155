import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { host, openGround } from '../../harness/machine/ground.js';
import { startStack, type Stack } from '../../harness/stack.js';

const machines = 8;
const users = Array.from({ length: 200 }, (_, number) => `user-${number}`);
const hour = 3_600_000;

describe('many reservations at once', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({ temporalAddress: inject('temporalAddress'), distPath: inject('distPath') });
    await stack.startWorker();
    const ground = openGround(stack);
    for (let number = 1; number <= machines; number += 1) await ground.add(`lab-${number}`);
  });
  afterAll(() => stack.stop());

  it('all get an answer from one worker, and each is booked once', async () => {
    const next = Math.ceil(Date.now() / hour) * hour + hour;
    const create = async (user: string, number: number): Promise<void> => {
      const from = next + Math.floor(number / machines) * hour;
      await stack.client.reservations.create({
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
