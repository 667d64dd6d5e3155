import { ApplicationFailure, type WorkflowInterceptors } from '@temporalio/workflow';
import { unreadHistory } from '../model/unread-history.js';

/**
 * A query may wait for a worker while events arrive. The worker that gets it replays the history, and
 * the SDK also processes the events since the last workflow task, as if they were a task. Its commands
 * would be sent with the next task, but a replay processes all of these events together. So a query is
 * answered only by a workflow that has made no commands since it was replayed, unless it comes with a
 * task; any other fails, which makes the worker drop the workflow from its cache, and the client repeats
 * it. Heddle's own clients read by updates (`src/client/read.ts`). See docs/decisions/0034-any-cut.md.
 */
export const interceptors = (): WorkflowInterceptors => {
  /** Commands were made, perhaps by such an early task. */
  let hasRun = false;
  /** The present activation may be an early task. */
  let mayBeEarly = false;
  return {
    internals: [
      {
        activate(input, next) {
          const { isReplaying, jobs } = input.activation;
          const query = jobs?.find(({ queryWorkflow }) => queryWorkflow != null)?.queryWorkflow;
          // New updates, and queries of another id than this one, come with a task only.
          const isTask =
            jobs?.some(({ doUpdate }) => doUpdate?.runValidator === true) === true ||
            (query != null && query.queryId !== 'legacy_query');
          if (isTask) hasRun = false;
          else if (query != null && hasRun)
            throw ApplicationFailure.retryable(unreadHistory.message, unreadHistory.type);
          mayBeEarly = query == null && !isTask && isReplaying !== true;
          next(input);
        },
        concludeActivation(input, next) {
          const output = next(input);
          // Without commands nothing depends on whether it was a task.
          if (output.commands.length > 0 && mayBeEarly) hasRun = true;
          mayBeEarly = false;
          return output;
        },
      },
    ],
  };
};
