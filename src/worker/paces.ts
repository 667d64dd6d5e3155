import { WithStartWorkflowOperation, type Client } from '@temporalio/client';
import { createPace, type CallSlots, type Pace } from '../activities/provider/pace.js';
import { callsWorkflowId, callsWorkflowType, coreQueue } from '../model/names.js';
import { takeCallsUpdate } from '../workflows/messages.js';

interface Limited {
  readonly limits?: { readonly callsPerSecond?: number };
}

/**
 * How often each account may be called, as its workflow has it; undefined for those without a limit. All of
 * this worker's calls share one pace.
 */
export function createPaces(
  temporal: Client,
  accounts: Readonly<Record<string, Limited>>,
): (provider: string) => Pace | undefined {
  const paces = Object.fromEntries(
    Object.entries(accounts).flatMap(([account, { limits }]) =>
      limits?.callsPerSecond === undefined
        ? []
        : [
            [
              account,
              createPace({
                account,
                perSecond: limits.callsPerSecond,
                slots: callSlotsOf(temporal, account),
              }),
            ],
          ],
    ),
  );
  return (provider) => paces[provider];
}

/** How long an answer may take, in ms. */
const answerMs = 10_000;

function callSlotsOf(temporal: Client, provider: string): CallSlots {
  const start = (): WithStartWorkflowOperation<() => Promise<void>> =>
    new WithStartWorkflowOperation<() => Promise<void>>(callsWorkflowType, {
      workflowId: callsWorkflowId(provider),
      taskQueue: coreQueue,
      args: [],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `when ${provider} may be called`,
    });
  return {
    take: (request) =>
      temporal.withDeadline(Date.now() + answerMs, () =>
        temporal.workflow.executeUpdateWithStart(takeCallsUpdate, {
          args: [request],
          startWorkflowOperation: start(),
        }),
      ),
  };
}
