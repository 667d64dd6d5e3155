import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { mostSent } from '../../src/model/carried.js';
import type { ActivityCall } from '../../src/model/messages/activity-call.js';
import { sealMessage } from '../../src/model/messages/envelope.js';
import { openInputs } from '../../src/worker/open-inputs.js';

async function run(result: string): Promise<unknown> {
  const call: ActivityCall = { call: 'call', queue: 'test' };
  const environment = new MockActivityEnvironment(
    { activityType: 'LIST', taskQueue: call.queue },
    { interceptors: [openInputs] },
  );
  return environment.run(async (..._args: unknown[]) => result, ...sealMessage('activity LIST', [call]));
}

it('an activity whose result no message can carry fails with its size and the limit', async () => {
  await expect(run('x'.repeat(mostSent))).rejects.toMatchObject({
    type: 'Invalid',
    nonRetryable: true,
    message: expect.stringContaining(
      `result of LIST has ${mostSent + 2} bytes as JSON; the limit of a message is ${mostSent}`,
    ),
  });
  expect(await run('x'.repeat(mostSent - 2))).toMatchObject({ heddleAt: expect.any(Number) as number });
});
