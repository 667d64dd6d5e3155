import { ApplicationFailure } from '@temporalio/common';
import { jsonBytes, mostSent } from '../../model/carried.js';
import type { FindMachinesReply, FindMachinesRequest, FoundMachine } from '../../model/node/probe.js';
import { readMachineKey, tagNames } from '../../model/names.js';
import type { Machine } from '../../plugins/contract.js';
import type { Attempt } from '../attempt.js';
import { viewAccount } from './account-view.js';
import type { ActivityParts } from '../parts.js';
import type { SharedLists } from './shared-lists.js';

/** In bytes of JSON; about 9,000 machines. */
const mostList = mostSent - 100;

/**
 * Lists all machines of one account that this installation made for a cluster of this name, in any of its
 * runs. Does not wait: recent changes within the provider's consistency window may be missing.
 */
export async function findMachines(
  parts: ActivityParts,
  lists: SharedLists,
  request: FindMachinesRequest,
  attempt: Attempt,
): Promise<FindMachinesReply> {
  const { clusterId, provider, uids = [] } = request;
  const view = await viewAccount(parts, lists, clusterId, provider, attempt);
  // A shared list may be older than the last machine of a run that was cut a moment ago.
  const machines = await view.list(uids.length > 0 ? performance.now() : undefined);
  if (machines === undefined)
    return { machines: [], unable: `provider type ${provider.type} cannot list its machines` };
  const ours = (machine: Machine): boolean =>
    machine.tags[tagNames.installation] === parts.installation && machine.state !== 'gone';
  const found = machines.filter(ours).flatMap((machine): readonly FoundMachine[] => {
    const key = readMachineKey(machine.key ?? machine.tags[tagNames.key] ?? '');
    if (key === undefined) return [];
    const { clusterUid, nodeId, incarnation } = key;
    // A machine without tags of its own is known by the uid alone.
    if (machine.tags[tagNames.cluster] !== clusterId && !uids.includes(clusterUid)) return [];
    const { providerid, state, createdAt } = machine;
    const placement = machine.tags[tagNames.placement];
    return [{ providerid, keyUid: clusterUid, nodeId, incarnation, state, placement, createdAt }];
  });
  refuseTooMany(found, request);
  return { machines: found };
}

/** The cluster would make all machines once more if it did without the list. */
function refuseTooMany(found: readonly FoundMachine[], { clusterId, provider }: FindMachinesRequest): void {
  const bytes = jsonBytes(found);
  if (bytes <= mostList) return;
  throw ApplicationFailure.nonRetryable(
    `account ${provider.name} has ${found.length} machines of earlier runs of cluster ${clusterId}, and their list has ` +
      `${bytes} bytes, more than the limit of ${mostList}, so they cannot be adopted; nothing was created or deleted. Run 'heddle leaks' ` +
      'to see them: delete those that are not needed, or apply the cluster under another name.',
    'Invalid',
  );
}
