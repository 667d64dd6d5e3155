import { ApplicationFailure, workflowInfo, type WorkflowInterceptors } from '@temporalio/workflow';
import { unreadHistory } from '../model/unread-history.js';

/** A workflow task that began so long ago, in ms, is over: the server gives it 10 s. */
const overMs = 9_000;

/**
 * Lets a workflow progress by workflow tasks only. A query may wait for a worker while events arrive. The
 * worker that gets it replays the history, and the SDK also processes events since the last workflow task, at
 * the time of that task. The resulting commands are sent with the next task, but a replay processes all
 * events together, at the time of the next task, and may reach another result. So the query fails, the client
 * repeats it (`src/client/ask-again.ts`), and the worker drops the workflow from its cache. See
 * docs/decisions/0017-only-by-tasks.md.
 */
export const interceptors = (): WorkflowInterceptors => {
  let last: { readonly time: string; readonly length: string } | undefined;
  let hasReplayed = false;
  /** Activations that were no replay and no query. */
  let live = 0;
  let isOld = false;
  return {
    internals: [
      {
        activate(input, next) {
          const { timestamp, historyLength, isReplaying, jobs } = input.activation;
          const query = jobs?.find(
            ({ queryWorkflow }) => queryWorkflow !== undefined && queryWorkflow !== null,
          )?.queryWorkflow;
          if (query === undefined || query === null) {
            const here = {
              time: `${String(timestamp?.seconds)}.${timestamp?.nanos}`,
              length: String(historyLength),
            };
            // A workflow task begins at a time of its own.
            if (isReplaying !== true && last?.time === here.time && last.length !== here.length) refuse();
            last = here;
            if (isReplaying === true) hasReplayed = true;
            else if (input.batchIndex !== 1) {
              live += 1;
              isOld =
                workflowInfo().unsafe.now() -
                  (Number(timestamp?.seconds) * 1_000 + (timestamp?.nanos ?? 0) / 1e6) >
                overMs;
            }
          } else if (query.queryId === 'legacy_query' && hasReplayed && live === 1 && isOld) {
            // An incomplete task passes its time on to later events. The clock may be wrong; the query is
            // then repeated needlessly.
            refuse();
          }
          next(input);
        },
      },
    ],
  };
};

function refuse(): never {
  throw ApplicationFailure.retryable(unreadHistory.message, unreadHistory.type);
}
