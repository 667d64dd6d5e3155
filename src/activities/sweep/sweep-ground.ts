import type { DisownReply, DisownRequest, SweepGround } from '../../model/sweep/sweep.js';
import type { ActivityParts } from '../parts.js';

/** Activities of the sweep beside the looks and DELETE; served on the core queue. */
export interface SweepActivities {
  readonly SWEEP_GROUND: () => Promise<SweepGround>;
  readonly DISOWN: (request: DisownRequest) => Promise<DisownReply>;
}

export function createSweepActivities({
  providers,
  registry,
  clusters,
}: Pick<ActivityParts, 'providers' | 'registry' | 'clusters'>): SweepActivities {
  return {
    SWEEP_GROUND: async () => ({
      accounts: Object.entries(providers).map(([name, { type, site }]) => {
        // What was made may be shown late, and what was deleted may be shown for as long.
        const lagMs = 2 * registry.provider(type).descriptor.consistencyWindowMs;
        return { name, type, site, lagMs };
      }),
      recorded: await clusters.hasAny(),
    }),
    DISOWN: async ({ machines }) => {
      const asked = [...new Set(machines.map(({ askedOf }) => askedOf))];
      const answers = await Promise.all(
        asked.map(async (workflowId) => {
          const named = machines
            .filter(({ askedOf }) => askedOf === workflowId)
            .map(({ key, providerid }) => ({ key, providerid }));
          const said = await clusters.disown(workflowId, named);
          return named.filter(
            (_machine, index) => said[index]?.is === 'free' || said[index]?.is === 'abandoned',
          );
        }),
      );
      return { free: answers.flat() };
    },
  };
}
