import {
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  type QueryDefinition,
  type WorkflowHandle,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { answerType, notYetType, readUpdateName } from '../model/messages/read.js';

/**
 * The answer of a workflow to a query. A query itself may reach a worker between two workflow tasks, where it
 * cannot be answered (`src/workflows/no-early-query.ts`), or wait for as long as other messages arrive; an
 * update has a workflow task of its own.
 * @throws What the workflow throws, or the server for a workflow that it does not know.
 */
export async function read<Answer, Args extends unknown[]>(
  handle: WorkflowHandle,
  { name }: QueryDefinition<Answer, Args>,
  ...args: Args
): Promise<Answer> {
  for (let isRepeated = false; ; isRepeated = true) {
    try {
      return await handle.executeUpdate<Answer, [boolean, string, ...unknown[]]>(readUpdateName, {
        args: [isRepeated, name, ...args],
      });
    } catch (error) {
      // A workflow that has ended takes no updates, and has no further tasks that a query could meet.
      if (error instanceof WorkflowNotFoundError) return handle.query<Answer, Args>(name, ...args);
      const cause = error instanceof WorkflowUpdateFailedError ? error.cause : undefined;
      if (!(cause instanceof ApplicationFailure)) throw error;
      if (cause.type === answerType) return cause.details?.[0] as Answer;
      if (cause.type !== notYetType) throw error;
    }
  }
}
