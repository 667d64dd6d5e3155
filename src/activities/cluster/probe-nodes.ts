import { setTimeout as wait } from 'node:timers/promises';
import pLimit from 'p-limit';
import { activityInfo } from '@temporalio/activity';
import { anySignal } from '../../model/signals.js';
import type {
  ProbedNode,
  Observation,
  ProbeReply,
  ProbeRequest,
  UnknownNode,
} from '../../model/node/probe.js';
import { PluginError } from '../../plugins/errors.js';
import type { Attempt } from '../attempt.js';
import { checkServices } from '../automator/check-services.js';
import { viewAccount } from '../provider/account-view.js';
import {
  isListedAsDrifted,
  probeAnswer,
  probeNode,
  unknown,
  type ProbeContext,
  type Verdict,
} from './probe-node.js';
import { keyOf } from '../../plugins/provider-call.js';
import type { ActivityParts } from '../parts.js';
import type { SharedLists } from '../provider/shared-lists.js';

/** Machines probed at once. */
const atOnce = 32;

/** Attempts after which unknown machines are reported as unknown. */
const patience = 3;

/**
 * Probes machines of one account and reports drift. Reports only what was observed: a failing provider or a
 * refused login makes a machine unknown, not gone.
 */
export async function survey(
  parts: ActivityParts,
  lists: SharedLists,
  request: ProbeRequest,
  attempt: Attempt,
): Promise<ProbeReply> {
  const { nodes, answersWithinMs } = request;
  const verdicts = await probeAll(parts, lists, request, attempt);
  const passing = verdicts.find((verdict) => verdict.kind === 'unknown' && verdict.passing);
  const { retryPolicy } = activityInfo();
  const last = Math.min(patience, retryPolicy?.maximumAttempts || patience);
  if (passing?.kind === 'unknown' && attempt.number < last && answersWithinMs === undefined)
    throw new PluginError('Retryable', passing.why);
  const checked = nodes.filter(
    ({ checks }, index) => checks !== undefined && verdicts[index]?.kind === 'fine',
  );
  const health = checked.length === 0 ? undefined : await checkServices(parts, request, checked, attempt);
  return {
    health,
    observations: nodes.flatMap(({ nodeId, incarnation }, index): readonly Observation[] => {
      const verdict = verdicts[index];
      return verdict?.kind === 'drift'
        ? [{ nodeId, incarnation, seen: verdict.seen, why: attempt.redact(verdict.why) }]
        : [];
    }),
    unknown: nodes.flatMap(({ nodeId, incarnation }, index): readonly UnknownNode[] => {
      const verdict = verdicts[index];
      return verdict?.kind === 'unknown' ? [{ nodeId, incarnation, why: attempt.redact(verdict.why) }] : [];
    }),
  };
}

/** A verdict for each node, in their order. */
async function probeAll(
  parts: ActivityParts,
  lists: SharedLists,
  { clusterId, provider, nodes, answersWithinMs }: ProbeRequest,
  attempt: Attempt,
): Promise<readonly Verdict[]> {
  const begun = performance.now();
  try {
    const view = await viewAccount(parts, lists, clusterId, provider, attempt);
    if (answersWithinMs !== undefined) {
      attempt.at(`logs in to ${nodes.length} machines of ${provider.name}`);
      const context = { parts, view, attempt };
      return await pLimit(atOnce).map(nodes, (node) => probeAnswer(context, node, answersWithinMs));
    }
    attempt.at(`lists the machines of ${provider.name}`);
    const shared: ProbeContext = { parts, view, attempt, listed: await view.list() };
    // A shared list may be older than the operation that asks, which may have switched a machine on since.
    const context = nodes.some((node) => isListedAsDrifted(shared, node))
      ? { ...shared, listed: await view.list(begun) }
      : shared;
    attempt.at(`probes ${nodes.length} machines of ${provider.name}`);
    const first = await pLimit(atOnce).map(nodes, (node) => probeNode(context, node));
    return await confirmAbsence(context, nodes, first);
  } catch (error) {
    if (attempt.signal.aborted || attempt.detach.aborted) throw error;
    // The account as a whole cannot be asked.
    const verdict = unknown(error);
    return nodes.map(() => verdict);
  }
}

/**
 * A missing machine counts as gone if it is still missing after the time by which the
 * provider's list may lag.
 */
async function confirmAbsence(
  context: ProbeContext,
  nodes: readonly ProbedNode[],
  first: readonly Verdict[],
): Promise<readonly Verdict[]> {
  const {
    parts: { absences },
    view: { account, consistencyWindowMs },
    attempt,
  } = context;
  const missed = nodes.map((node, index) => {
    if (first[index]?.kind === 'missing') return absences.miss(keyOf(node));
    absences.forget(keyOf(node));
    return undefined;
  });
  const leftMs = Math.max(0, ...missed.map((ms) => (ms === undefined ? 0 : consistencyWindowMs - ms)));
  if (leftMs > 0) {
    if (leftMs > longestWaitMs())
      return first.map((verdict) =>
        verdict.kind === 'missing' ? late(verdict.why, account, leftMs) : verdict,
      );
    attempt.at(`waits ${leftMs} ms to check again for machines that ${account} does not list`);
    await wait(leftMs, undefined, { signal: anySignal([attempt.signal, attempt.detach]) });
  }
  const fresh: ProbeContext = { ...context, listed: undefined };
  return pLimit(atOnce).map(
    nodes.map((node, index) => ({ node, verdict: first[index] })),
    async ({ node, verdict }): Promise<Verdict> => {
      if (verdict?.kind !== 'missing') return verdict ?? { kind: 'fine' };
      const again = leftMs > 0 ? await probeNode(fresh, node) : verdict;
      absences.forget(keyOf(node));
      return again.kind === 'missing' ? { kind: 'drift', seen: 'gone', why: again.why } : again;
    },
  );
}

function late(why: string, account: string, leftMs: number): Verdict {
  return {
    kind: 'unknown',
    why: `${why}, but the list of ${account} may lag behind: probe again in ${Math.ceil(leftMs / 1_000)} s`,
    passing: false,
  };
}

/** Reserves half the time of the attempt for probes. */
function longestWaitMs(): number {
  const { startToCloseTimeoutMs } = activityInfo();
  return startToCloseTimeoutMs > 0 ? startToCloseTimeoutMs / 2 : Number.POSITIVE_INFINITY;
}
