import type { QuotaReply, QuotaRequest } from '../../model/pool/messages.js';
import { viewAccount } from '../provider/account-view.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';
import type { SharedLists } from '../provider/shared-lists.js';

/**
 * The activity READ_QUOTA: what an account allows, and what of it is in use by whomever. It changes nothing.
 */
export async function readQuota(
  parts: ActivityParts,
  lists: SharedLists,
  { provider, flavors = [] }: QuotaRequest,
  attempt: Attempt,
): Promise<QuotaReply> {
  const view = await viewAccount(parts, lists, '-', provider, attempt);
  attempt.at(`reads the quota of ${provider.name}`);
  const quota = await view.quota({ flavors });
  return quota === undefined ? {} : { quota };
}
