import {
  ApplicationFailure,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setHandler,
  sleep,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { readTaskFailure } from '../../../src/workflows/task-failure.js';
import { beginCreate } from '../../../src/workflows/unsent-create.js';
import type { TaskOutcome, TaskRequest } from '../../../src/model/node/task-request.js';

const { CREATE } = proxyActivities<{ CREATE(request: TaskRequest): Promise<TaskOutcome> }>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '5 seconds',
  retry: { initialInterval: '100 ms', maximumInterval: '1 s' },
});

/** One CREATE, over as many tasks as it takes to send it. */
export async function createOne(request: TaskRequest): Promise<TaskOutcome> {
  const calls = beginCreate({});
  for (;;) {
    try {
      return await CREATE(request);
    } catch (error) {
      const { taskId } = request;
      const next = calls.next(readTaskFailure(error, { taskId, action: 'CREATE' }, ''));
      if (typeof next !== 'number') throw error;
      await sleep(next);
    }
  }
}

export const endSignal = defineSignal<['complete' | 'fail' | 'continue']>('end');

/** Lives as a cluster does, as far as the server sees it. */
export async function life(uid: string): Promise<void> {
  let end = '';
  setHandler(endSignal, (how) => {
    end = how;
  });
  upsertMemo({ heddleUid: uid });
  await condition(() => end !== '');
  if (end === 'fail') throw ApplicationFailure.nonRetryable(`run ${workflowInfo().runId} failed`);
  if (end === 'continue') await continueAsNew<typeof life>(uid);
}
