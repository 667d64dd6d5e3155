import type { NodeReusedRequest } from '../../model/pool/messages.js';
import { viewAccount } from '../provider/account-view.js';
import type { Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';
import type { SharedLists } from '../provider/shared-lists.js';

/** The activity NODE_REUSED: notifies a provider that a node of a pool is ready again after use. */
export async function notifyReused(
  parts: ActivityParts,
  lists: SharedLists,
  { clusterId, provider, node }: NodeReusedRequest,
  attempt: Attempt,
): Promise<void> {
  const view = await viewAccount(parts, lists, clusterId, provider, attempt);
  attempt.at(`notifies ${provider.name} of ${node.nodeId}`);
  await view.reused(node);
}
