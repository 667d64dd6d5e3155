import { ApplicationFailure, workflowInfo, type WorkflowInterceptors } from '@temporalio/workflow';
import { unreadHistory } from '../model/unread-history.js';

/** A workflow task that began so long ago, in ms, is over: the server gives it 10 s. */
const overMs = 9_000;

/**
 * Has nothing of a workflow go on but by its tasks. A query may wait for a worker while things happen. The
 * worker that takes it replays the history, and the SDK goes on with what happened since the last workflow
 * task: at the time of that task, and apart from what else happens before the next one begins. What comes of
 * that is sent with the next task, but a replay takes up all together, at the time of that next one, and may
 * come to something else. So the query fails, to be asked again (`src/client/ask-again.ts`), and the worker
 * forgets what it had read. Decisions: docs/decisions/0017-only-by-tasks.md.
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
            // A task that never completed gives its time to what follows. By the clock, which may be
            // wrong: then a query is asked twice.
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
