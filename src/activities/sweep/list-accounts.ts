import { activityInfo } from '@temporalio/activity';
import type {
  DisownReply,
  DisownRequest,
  ListAccountsRequest,
  SweepAccounts,
} from '../../model/sweep/sweep.js';
import type { ActivityParts } from '../parts.js';

/**
 * The activity LIST_ACCOUNTS: the accounts that the sweep lists, and whether the server has forgotten a pass.
 */
export async function listAccounts(
  {
    providers,
    registry,
    clusters,
    lastPass,
  }: Pick<ActivityParts, 'providers' | 'registry' | 'clusters' | 'lastPass'>,
  { resumedAt }: ListAccountsRequest,
): Promise<SweepAccounts> {
  const { workflowId = '', runId = '' } = activityInfo().workflowExecution ?? {};
  const missing = await lastPass.missing(resumedAt);
  // A missing one stays on record until a person resumes the sweep: this pass may fail.
  if (missing === undefined) await lastPass.record({ workflowId, runId, at: new Date().toISOString() });
  return {
    ...(missing === undefined ? {} : { missing }),
    accounts: Object.entries(providers).map(([name, { type, site }]) => {
      // Lists may be late by the consistency window, both after a create and after a delete.
      const lagMs = 2 * registry.provider(type).descriptor.consistencyWindowMs;
      return { name, type, site, lagMs };
    }),
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
