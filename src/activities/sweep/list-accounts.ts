import type { DisownReply, DisownRequest, SweepAccounts } from '../../model/sweep/sweep.js';
import type { ActivityParts } from '../parts.js';

/** The activity LIST_ACCOUNTS: the accounts that the sweep lists. */
export async function listAccounts({
  providers,
  registry,
  clusters,
}: Pick<ActivityParts, 'providers' | 'registry' | 'clusters'>): Promise<SweepAccounts> {
  return {
    accounts: Object.entries(providers).map(([name, { type, site }]) => {
      // Lists may be late by the consistency window, both after a create and after a delete.
      const lagMs = 2 * registry.provider(type).descriptor.consistencyWindowMs;
      return { name, type, site, lagMs };
    }),
    recorded: await clusters.hasAny(),
    origins: await clusters.origins(),
  };
}

/** The activity DISOWN: has workflows confirm that they do not own machines, and never will. */
export async function disown(
  { clusters }: Pick<ActivityParts, 'clusters'>,
  { machines }: DisownRequest,
): Promise<DisownReply> {
  const asked = [...new Set(machines.map(({ askedOf }) => askedOf))];
  const answers = await Promise.all(
    asked.map(async (workflowId) => {
      const named = machines
        .filter(({ askedOf }) => askedOf === workflowId)
        .map(({ key, providerid }) => ({ key, providerid }));
      const said = await clusters.disown(workflowId, named);
      return named.filter((_machine, index) => said[index]?.is === 'free' || said[index]?.is === 'abandoned');
    }),
  );
  return { free: answers.flat() };
}
