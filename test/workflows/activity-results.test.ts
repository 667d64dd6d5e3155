import type { WorkflowFailedError } from '@temporalio/client';
import { expect, inject, it } from 'vitest';
import { workflowQueue } from '../../src/model/names.js';
import { until } from '../harness/until.js';
import { openMessageWorld } from '../harness/workflows/message-world.js';
import { samples } from '../harness/workflows/sample-messages.js';

// temporal.api.enums.v1.PendingActivityState
const started = 2;

it('a workflow refuses the result of an activity that a caller without keys completed', async () => {
  const world = await openMessageWorld(inject('temporalAddress'), inject('workflowBundlePath'));
  try {
    const { workflowId, start } = samples.plan;
    const { proper, plain } = world.clients;
    await proper.workflow.start('plan', { workflowId, taskQueue: workflowQueue, args: [...start] });
    // Anyone whom the server permits may end an activity that has begun.
    const { namespace } = plain.options;
    let activityId: string | null | undefined;
    await until('the activity to begin', async () => {
      const { pendingActivities } = (await world.handle('proper', 'plan').describe()).raw;
      activityId = pendingActivities?.find(
        ({ activityType, state }) => activityType?.name === 'PLAN' && state === started,
      )?.activityId;
      return activityId != null;
    });
    const encoding = Buffer.from('json/plain');
    const payloads = [{ metadata: { encoding }, data: Buffer.from('{"operation":"delete everything"}') }];
    const result = { payloads };
    await plain.workflowService.respondActivityTaskCompletedById({
      namespace,
      workflowId,
      activityId,
      result,
    });
    const error = await world
      .handle('proper', 'plan')
      .result()
      .then(String, (reason: unknown) => reason);
    const { cause } = error as WorkflowFailedError;
    expect(cause).toMatchObject({
      name: 'ActivityFailure',
      activityType: 'PLAN',
      cause: { type: 'UnknownOutcome' },
    });
    expect(cause?.cause).toMatchObject({ message: expect.stringContaining('not encrypted') });
  } finally {
    await world.stop();
  }
});
