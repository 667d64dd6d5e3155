import { WithStartWorkflowOperation, type Client } from '@temporalio/client';
import { createRateLimiter, type CallTimes, type Pace } from '../activities/provider/rate-limiter.js';
import { rateLimiterWorkflowId, rateLimiterWorkflowType, coreQueue } from '../model/names.js';
import { takeCallTimesUpdate } from '../workflows/cluster/messages.js';

interface Limited {
  readonly limits?: { readonly callsPerSecond?: number };
}

/**
 * How often each account may be called, as its workflow has it; undefined for those without a limit. All of
 * this worker's calls share one pace.
 */
export function createRateLimiters(
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
              createRateLimiter({
                account,
                perSecond: limits.callsPerSecond,
                slots: callTimesOf(temporal, account),
              }),
            ],
          ],
    ),
  );
  return (provider) => paces[provider];
}

/** How long an answer may take, in ms. */
const answerMs = 10_000;

export function callTimesOf(temporal: Client, provider: string): CallTimes {
  const start = (): WithStartWorkflowOperation<() => Promise<void>> =>
    new WithStartWorkflowOperation<() => Promise<void>>(rateLimiterWorkflowType, {
      workflowId: rateLimiterWorkflowId(provider),
      taskQueue: coreQueue,
      args: [],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `when ${provider} may be called`,
    });
  return {
    take: (request) =>
      temporal.withDeadline(Date.now() + answerMs, () =>
        temporal.workflow.executeUpdateWithStart(takeCallTimesUpdate, {
          args: [request],
          startWorkflowOperation: start(),
        }),
      ),
  };
}
