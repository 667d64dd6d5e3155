import type { WorkflowFailedError } from '@temporalio/client';
import { expect, inject, it } from 'vitest';
import { coreQueue, workflowQueue } from '../../src/model/names.js';
import { openMessageWorld } from '../harness/workflows/message-world.js';
import { samples } from '../harness/workflows/sample-messages.js';

it('a workflow refuses the result of an activity that a caller without keys completed', async () => {
  const world = await openMessageWorld(inject('temporalAddress'), inject('workflowBundlePath'));
  try {
    const { workflowId, start } = samples.plan;
    const { proper, plain } = world.clients;
    await proper.workflow.start('plan', { workflowId, taskQueue: workflowQueue, args: [...start] });
    // Anyone whom the server permits may poll for the activity that waits there.
    const { namespace } = plain.options;
    const taskQueue = { name: coreQueue };
    const { taskToken, activityType } = await plain.withDeadline(Date.now() + 60_000, () =>
      plain.workflowService.pollActivityTaskQueue({ namespace, taskQueue }),
    );
    expect(activityType?.name).toBe('PLAN');
    const encoding = Buffer.from('json/plain');
    const payloads = [{ metadata: { encoding }, data: Buffer.from('{"operation":"delete everything"}') }];
    await plain.workflowService.respondActivityTaskCompleted({ namespace, taskToken, result: { payloads } });
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
