import {
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  type Client,
} from '@temporalio/client';
import type { UpdateDefinition } from '@temporalio/common';
import type { Locks } from '../activities/parts.js';
import { createRateLimiter, type CallTimes, type RateLimiter } from '../activities/provider/rate-limiter.js';
import {
  rateLimiterWorkflowId,
  rateLimiterWorkflowType,
  claimsWorkflowId,
  claimsWorkflowType,
  workflowQueue,
  lockWorkflowId,
  lockWorkflowType,
} from '../model/names.js';
import { claimsMessages, lockMessages, rateLimiterMessages } from '../workflows/messages.js';
import type { ClaimRequest } from '../model/account/contract.js';
import type { Claims } from '../plugins/contract.js';
import { PluginError } from '../plugins/errors.js';
import { inBatches } from './in-batches.js';
import { read } from '../client/read.js';

/** Claims in one message: its size is limited. */
const maxClaims = 200;

/** How long a response may take beyond the wait that was requested, in ms. */
const responseMs = 10_000;

/** The lock of an account, which one workflow holds for all workers. */
export function locksOf(temporal: Client, provider: string): Locks {
  const workflow = {
    type: lockWorkflowType,
    workflowId: lockWorkflowId(provider),
    summary: `lock of ${provider}`,
  };
  return {
    take: (request) =>
      temporal.withDeadline(Date.now() + request.waitMs + responseMs, () =>
        updateWithStart(temporal, workflow, lockMessages.updates.take, [request]),
      ),
    release: (holder) =>
      temporal.withDeadline(Date.now() + responseMs, () =>
        updateWithStart(temporal, workflow, lockMessages.updates.release, [holder]),
      ),
  };
}

interface Limited {
  readonly limits?: { readonly callsPerSecond?: number };
}

/** Rate limiters of the accounts that have a limit; all calls of this worker share one per account. */
export function createRateLimiters(
  temporal: Client,
  accounts: Readonly<Record<string, Limited>>,
): (provider: string) => RateLimiter | undefined {
  const rateLimiters = new Map<string, RateLimiter>();
  for (const [account, { limits }] of Object.entries(accounts)) {
    const perSecond = limits?.callsPerSecond;
    if (perSecond !== undefined)
      rateLimiters.set(
        account,
        createRateLimiter({ account, perSecond, slots: callTimesOf(temporal, account) }),
      );
  }
  return (provider) => rateLimiters.get(provider);
}

export function callTimesOf(temporal: Client, provider: string): CallTimes {
  const workflow = {
    type: rateLimiterWorkflowType,
    workflowId: rateLimiterWorkflowId(provider),
    summary: `rate limit of ${provider}`,
  };
  return {
    take: (request) =>
      temporal.withDeadline(Date.now() + responseMs, () =>
        updateWithStart(temporal, workflow, rateLimiterMessages.updates.take, [request]),
      ),
  };
}

/**
 * The claimed machines of each account, which one workflow keeps so that two workers never claim the same.
 */
export function createClaims(temporal: Client): (provider: string) => Claims {
  const accounts = new Map<string, Claims>();
  return (provider) => {
    const claims = accounts.get(provider) ?? claimsOf(temporal, provider);
    accounts.set(provider, claims);
    return claims;
  };
}

type ClaimChange =
  | { readonly take: string; readonly candidates: readonly string[] }
  | { readonly release: string };

/** Calls of this worker share updates: the server accepts only a few at a time for one workflow. */
export function claimsOf(temporal: Client, provider: string): Claims {
  const workflow = {
    type: claimsWorkflowType,
    workflowId: claimsWorkflowId(provider),
    summary: `claimed machines of ${provider}`,
  };
  const change = inBatches<ClaimChange, string | null>(maxClaims, (changes) =>
    orRetryable(provider, async () => {
      const request = claimRequestOf(changes);
      const machines = await updateWithStart(temporal, workflow, claimsMessages.updates.claim, [request]);
      return changes.map((one) =>
        'take' in one ? (machines[request.take.findIndex(({ key }) => key === one.take)] ?? null) : null,
      );
    }),
  );
  return {
    take: async (key, candidates) => (await change({ take: key, candidates })) ?? undefined,
    release: async (key) => {
      await change({ release: key });
    },
    held: async () => {
      try {
        return await orRetryable(provider, () =>
          read(temporal.workflow.getHandle(workflow.workflowId), claimsMessages.queries.held),
        );
      } catch (error) {
        // No machine of this account has been claimed yet.
        if (error instanceof WorkflowNotFoundError) return {};
        throw error;
      }
    },
  };
}

/** Keys of one account often have the same candidates, which the message then contains once. */
function claimRequestOf(changes: readonly ClaimChange[]): ClaimRequest {
  const lists = new Map<string, number>();
  const candidates: (readonly string[])[] = [];
  const take = new Map<string, number>();
  const release: string[] = [];
  for (const one of changes) {
    if ('release' in one) {
      release.push(one.release);
      continue;
    }
    const text = one.candidates.join('\n');
    const place = lists.get(text) ?? candidates.push(one.candidates) - 1;
    lists.set(text, place);
    take.set(one.take, place);
  }
  return { take: [...take].map(([key, place]) => ({ key, candidates: place })), candidates, release };
}

/** Claims are idempotent, so the call can be retried when a server or worker does not respond. */
async function orRetryable<Result>(provider: string, call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new PluginError('Retryable', `the claims of ${provider} are unavailable: ${why}`, { cause: error });
  }
}

function updateWithStart<Result, Args extends [unknown, ...unknown[]]>(
  temporal: Client,
  workflow: { readonly type: string; readonly workflowId: string; readonly summary: string },
  update: UpdateDefinition<Result, Args>,
  args: Args,
): Promise<Result> {
  const startWorkflowOperation = new WithStartWorkflowOperation<() => Promise<void>>(workflow.type, {
    workflowId: workflow.workflowId,
    taskQueue: workflowQueue,
    args: [],
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: workflow.summary,
  });
  return temporal.workflow.executeUpdateWithStart(update, { args, startWorkflowOperation });
}
