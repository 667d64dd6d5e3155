import {
  type Client,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { claimsWorkflowId, claimsWorkflowType, coreQueue } from '../model/names.js';
import type { Claims } from '../plugins/contract.js';
import { PluginError } from '../plugins/errors.js';
import { heldClaimsQuery, releaseClaimUpdate, takeClaimUpdate } from '../workflows/cluster/messages.js';

/**
 * Which machines of an account are taken: kept by one workflow for each account, so that two workers never
 * take the same.
 */
export function claimsOf(temporal: Client, provider: string): Claims {
  const workflowId = claimsWorkflowId(provider);
  const start = (): WithStartWorkflowOperation<() => Promise<void>> =>
    new WithStartWorkflowOperation<() => Promise<void>>(claimsWorkflowType, {
      workflowId,
      taskQueue: coreQueue,
      args: [],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `machines of ${provider} and who has them`,
    });
  return {
    take: async (key, candidates) =>
      (await asked(provider, () =>
        temporal.workflow.executeUpdateWithStart(takeClaimUpdate, {
          args: [key, candidates],
          startWorkflowOperation: start(),
        }),
      )) ?? undefined,
    release: async (key) => {
      await asked(provider, () =>
        temporal.workflow.executeUpdateWithStart(releaseClaimUpdate, {
          args: [key],
          startWorkflowOperation: start(),
        }),
      );
    },
    held: async () => {
      try {
        return await asked(provider, () => temporal.workflow.getHandle(workflowId).query(heldClaimsQuery));
      } catch (error) {
        // Nobody has claimed anything of this account yet.
        if (error instanceof WorkflowNotFoundError) return {};
        throw error;
      }
    },
  };
}

/**
 * Both updates may come twice. So whatever keeps the server from answering, such as a worker that died with
 * the workflow's task, is waited out.
 */
async function asked<Answer>(provider: string, ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError) throw error;
    throw new PluginError(
      'Retryable',
      `who has what of ${provider} could not be asked: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
}
