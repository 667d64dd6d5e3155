import { WithStartWorkflowOperation, type Client } from '@temporalio/client';
import type { Locks } from '../activities/parts.js';
import { coreQueue, lockWorkflowId, lockWorkflowType } from '../model/names.js';
import { releaseLockUpdate, takeLockUpdate } from '../workflows/cluster/messages.js';

/** How much longer than the wait itself its answer may take, in ms. */
const graceMs = 10_000;

/** Whose turn it is to call an account, as its workflow has it. */
export function locksOf(temporal: Client, provider: string): Locks {
  const workflowId = lockWorkflowId(provider);
  const start = (): WithStartWorkflowOperation<() => Promise<void>> =>
    new WithStartWorkflowOperation<() => Promise<void>>(lockWorkflowType, {
      workflowId,
      taskQueue: coreQueue,
      args: [],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `whose turn it is to call ${provider}`,
    });
  return {
    take: (request) =>
      temporal.withDeadline(Date.now() + request.waitMs + graceMs, () =>
        temporal.workflow.executeUpdateWithStart(takeLockUpdate, {
          args: [request],
          startWorkflowOperation: start(),
        }),
      ),
    release: (holder) =>
      temporal.withDeadline(Date.now() + graceMs, () =>
        temporal.workflow.executeUpdateWithStart(releaseLockUpdate, {
          args: [holder],
          startWorkflowOperation: start(),
        }),
      ),
  };
}
