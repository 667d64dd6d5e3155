import { WithStartWorkflowOperation, type Client } from '@temporalio/client';
import type { Turns } from '../activities/parts.js';
import { coreQueue, turnWorkflowId, turnWorkflowType } from '../model/names.js';
import { releaseTurnUpdate, takeTurnUpdate } from '../workflows/cluster/messages.js';

/** How much longer than the wait itself its answer may take, in ms. */
const graceMs = 10_000;

/** Whose turn it is to call an account, as its workflow has it. */
export function turnsOf(temporal: Client, provider: string): Turns {
  const workflowId = turnWorkflowId(provider);
  const start = (): WithStartWorkflowOperation<() => Promise<void>> =>
    new WithStartWorkflowOperation<() => Promise<void>>(turnWorkflowType, {
      workflowId,
      taskQueue: coreQueue,
      args: [],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `whose turn it is to call ${provider}`,
    });
  return {
    take: (request) =>
      temporal.withDeadline(Date.now() + request.waitMs + graceMs, () =>
        temporal.workflow.executeUpdateWithStart(takeTurnUpdate, {
          args: [request],
          startWorkflowOperation: start(),
        }),
      ),
    release: (holder) =>
      temporal.withDeadline(Date.now() + graceMs, () =>
        temporal.workflow.executeUpdateWithStart(releaseTurnUpdate, {
          args: [holder],
          startWorkflowOperation: start(),
        }),
      ),
  };
}
