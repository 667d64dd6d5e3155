import type { ConnectionLike, WorkflowClientInterceptor } from '@temporalio/client';
import { headerOfLength, historyLengthHeader } from '../model/messages/history-length.js';

/**
 * Tells workers with each query how long the workflow's history was before, so that they can tell a query that
 * made them run ahead of the workflow's tasks (`src/workflows/no-early-query.ts`).
 */
export function tellHistoryLength(
  { workflowService }: ConnectionLike,
  namespace: string,
): WorkflowClientInterceptor {
  return {
    async query(input, next) {
      const described = await workflowService
        .describeWorkflowExecution({ namespace, execution: input.workflowExecution })
        // The query meets the same error, or a worker that needs no length.
        .catch(() => undefined);
      const length = Number(described?.workflowExecutionInfo?.historyLength ?? 0);
      return next({ ...input, headers: { ...input.headers, [historyLengthHeader]: headerOfLength(length) } });
    },
  };
}
