import { patched, type WorkflowInterceptors } from '@temporalio/workflow';

/** Of this run alone: each has its own modules. */
let wanted = false;

/**
 * Has each workflow task of this run leave a command in the history. Of two tasks in a row of which the first
 * commanded nothing, a worker that has not kept the workflow may be given both at once while the second is
 * new: with an update of the second before the ends of activities of the first, at the time of the second.
 * Once both are written a replay gets them apart. Where a command stands between them they are never put
 * together.
 */
export function leaveNoTaskEmpty(): void {
  wanted = patched('20261122-no-empty-task');
}

/**
 * The smallest command that stands in a history and does nothing: a field of the memo that is not there is
 * taken out of it.
 */
const nothing = {
  modifyWorkflowProperties: {
    upsertedMemo: {
      fields: {
        heddleTask: {
          metadata: { encoding: Uint8Array.from('binary/null', (letter) => letter.charCodeAt(0)) },
        },
      },
    },
  },
} as const;

export const interceptors = (): WorkflowInterceptors => ({
  internals: [
    {
      concludeActivation(input, next) {
        const { commands } = next(input);
        return { commands: wanted && commands.length === 0 ? [nothing] : commands };
      },
    },
  ],
});
