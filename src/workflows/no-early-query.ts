import { ApplicationFailure, type WorkflowInterceptors } from '@temporalio/workflow';
import { lengthSeenBy } from '../model/messages/history-length.js';
import { unreadHistory } from '../model/unread-history.js';

/**
 * A query may wait for a worker while events arrive. The worker that gets it replays the history, and the SDK
 * also processes the events since the last workflow task, as if they were a task. Its commands would be sent with the
 * next task, but a replay processes all of these events together. So such a query fails, which makes the worker drop
 * the workflow from its cache, and the client repeats it (`src/client/ask-again.ts`).
 *
 * What came before the query was a real task if the client saw a longer history before it asked: the server writes
 * events after the end of a task only. A query that does not say so is answered by a workflow that was only replayed.
 * See docs/decisions/0034-any-cut.md.
 */
export const interceptors = (): WorkflowInterceptors => {
  /** Up to where the history was processed when commands were made, perhaps early; undefined after a replay. */
  let processed: number | undefined;
  /** The same of the present activation. */
  let processing: number | undefined;
  return {
    internals: [
      {
        activate(input, next) {
          const { historyLength, isReplaying, jobs } = input.activation;
          const query = jobs?.find(({ queryWorkflow }) => queryWorkflow != null)?.queryWorkflow;
          if (query == null) {
            // New updates come with a task only.
            const isTask = jobs?.some(({ doUpdate }) => doUpdate?.runValidator === true) === true;
            if (isTask) processed = undefined;
            processing = isTask || isReplaying === true ? undefined : Number(historyLength);
          } else if (query.queryId !== 'legacy_query') {
            // So do these queries.
            processed = undefined;
          } else if (processed !== undefined && processed >= lengthSeenBy(query.headers ?? {}))
            throw ApplicationFailure.retryable(unreadHistory.message, unreadHistory.type);
          next(input);
        },
        concludeActivation(input, next) {
          const output = next(input);
          // Without commands nothing depends on whether it was a task.
          if (output.commands.length > 0) processed = processing ?? processed;
          processing = undefined;
          return output;
        },
      },
    ],
  };
};
