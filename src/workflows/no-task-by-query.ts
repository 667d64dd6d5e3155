import { ApplicationFailure, type WorkflowInterceptors } from '@temporalio/workflow';
import { unreadHistory } from '../model/unread-history.js';

/**
 * Has nothing of a workflow go on but by its tasks. A query may wait for a worker while things happen. The worker that takes it replays the history, and the
 * SDK goes on with what happened since the last workflow task: at the time of that task, and apart from what else happens before the next one begins.
 * What comes of that is sent with the next task, but a replay takes up all together, at the time of that next one, and may come to something else. So this look
 * ahead fails. The query fails with it, to be asked again (`src/client/ask-again.ts`), and the worker forgets what it had read.
 */
export const interceptors = (): WorkflowInterceptors => {
  let last: { readonly time: string; readonly length: string } | undefined;
  return {
    internals: [{
      activate(input, next) {
        const { timestamp, historyLength, isReplaying, jobs } = input.activation;
        if (jobs?.some(({ queryWorkflow }) => queryWorkflow !== undefined && queryWorkflow !== null) !== true) {
          const here = { time: `${String(timestamp?.seconds)}.${timestamp?.nanos}`, length: String(historyLength) };
          // A workflow task begins at a time of its own.
          const looksAhead = isReplaying !== true && last?.time === here.time && last.length !== here.length;
          if (looksAhead) throw ApplicationFailure.retryable(unreadHistory.message, unreadHistory.type);
          last = here;
        }
        next(input);
      },
    }],
  };
};
