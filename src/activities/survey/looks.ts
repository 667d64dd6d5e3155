import type { FindLeaksReply, FindLeaksRequest } from '../../model/sweep/sweep.js';
import type { FindMachinesReply, FindMachinesRequest, SurveyReply, SurveyRequest } from '../../model/look.js';
import type { Attempt } from '../attempt.js';
import { toFailure } from '../failures.js';
import { findLeaks } from '../sweep/find-leaks.js';
import { findMachines } from '../provider/find-machines.js';
import { openLook } from './open-look.js';
import type { NodeReusedRequest, QuotaReply, QuotaRequest } from '../../model/pool/messages.js';
import { tellReused } from '../provider/tell-reused.js';
import { readQuota } from '../provider/read-quota.js';
import type { ActivityParts } from '../parts.js';
import { createSharedLists, type SharedLists } from './shared-lists.js';
import { survey } from './survey.js';

/** Activities that look at machines and change nothing; served on each site's queue. */
export interface LookActivities {
  readonly SURVEY: (request: SurveyRequest) => Promise<SurveyReply>;
  readonly FIND_MACHINES: (request: FindMachinesRequest) => Promise<FindMachinesReply>;
  readonly FIND_LEAKS: (request: FindLeaksRequest) => Promise<FindLeaksReply>;
  readonly NODE_REUSED: (request: NodeReusedRequest) => Promise<void>;
  readonly READ_QUOTA: (request: QuotaRequest) => Promise<QuotaReply>;
}

export function createLookActivities(parts: ActivityParts): LookActivities {
  const lists = createSharedLists();
  return {
    SURVEY: (request) => runLook(parts, lists, 'SURVEY', request, survey),
    FIND_MACHINES: (request) => runLook(parts, lists, 'FIND_MACHINES', request, findMachines),
    FIND_LEAKS: (request) => runLook(parts, lists, 'FIND_LEAKS', request, findLeaks),
    NODE_REUSED: (request) => runLook(parts, lists, 'NODE_REUSED', request, tellReused),
    READ_QUOTA: (request) => runLook(parts, lists, 'READ_QUOTA', request, readQuota),
  };
}

/** What cannot be looked at soon is not waited for. */
const lookRetry = { initialMs: 1_000, maximumMs: 10_000, attempts: 3 } as const;

type Look<Request, Reply> = (
  parts: ActivityParts,
  lists: SharedLists,
  request: Request,
  attempt: Attempt,
) => Promise<Reply>;

interface AboutAccount {
  readonly provider: { readonly name: string };
  /** Absent where it is about no single cluster. */
  readonly clusterId?: string;
}

async function runLook<Request extends AboutAccount, Reply>(
  parts: ActivityParts,
  lists: SharedLists,
  name: string,
  request: Request,
  look: Look<Request, Reply>,
): Promise<Reply> {
  const { clusterId = '-', provider } = request;
  const attempt = openLook(parts, {
    title: `${name} ${request.clusterId ?? provider.name}`,
    cluster: clusterId,
    provider: provider.name,
  });
  try {
    return await look(parts, lists, request, attempt);
  } catch (error) {
    const failure = toFailure(error, attempt, lookRetry);
    if (!attempt.detach.aborted) attempt.log.warn(failure.message);
    throw failure;
  } finally {
    await attempt.close();
  }
}
