import { workflowInfo, type WorkflowInterceptors } from '@temporalio/workflow';
import { messagesOf } from '../model/messages/table.js';

/** The smallest command that changes nothing: it removes a memo field that does not exist. */
const noop = {
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

/**
 * Adds a command to each workflow task that has none. If the first of two consecutive tasks has no command, a
 * worker without the workflow in its cache may receive both in one activation: an update of the second task
 * is then applied before activity results of the first, at the time of the second. A replay applies them
 * separately and diverges. Tasks with a command between them are never merged.
 */
export const interceptors = (): WorkflowInterceptors => ({
  internals: [
    {
      concludeActivation(input, next) {
        const { commands } = next(input);
        const isHeddle = messagesOf(workflowInfo().workflowType) !== undefined;
        return { commands: isHeddle && commands.length === 0 ? [noop] : commands };
      },
    },
  ],
});
