import { imageWorkflowId, machineWorkflowId } from '../../model/names.js';
import type { ActivityParts } from '../parts.js';

/** The activity LIST_ROUNDS: the workflows that look at themselves when they are told. */
export function createListRoundsActivity({ clusters }: Pick<ActivityParts, 'clusters'>): {
  readonly LIST_ROUNDS: () => Promise<{ readonly workflows: readonly string[] }>;
} {
  return {
    LIST_ROUNDS: async () => {
      const owners = await clusters.living();
      return {
        workflows: owners
          .map(({ name }) => name)
          .filter((name) => name.startsWith(machineWorkflowId('')) || name.startsWith(imageWorkflowId(''))),
      };
    },
  };
}
