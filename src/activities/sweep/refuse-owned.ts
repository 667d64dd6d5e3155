import { PluginError } from '../../plugins/errors.js';
import type { ActivityParts } from '../parts.js';
import { findOwners, type OwnMachine } from './find-owners.js';

/**
 * The sweep deletes only machines without an owner at this moment: since the listing, a new cluster of that
 * name may have adopted the machine.
 */
export async function refuseOwned(parts: ActivityParts, machine: OwnMachine): Promise<void> {
  const [owner] = await findOwners(parts.clusters, [machine]);
  switch (owner?.is) {
    case 'orphan':
    case 'free':
    case 'abandoned':
    // The pass that decided had a record of it then, or a person named it.
    case 'unknown':
      return;
    case 'mine':
      throw new PluginError(
        'Invalid',
        `machine ${machine.providerid} belongs to a cluster now, so the sweep leaves it`,
      );
    case 'unclear':
      throw new PluginError('Invalid', `the sweep leaves machine ${machine.providerid}, for ${owner.why}`);
    default:
      throw new PluginError(
        'Invalid',
        `the sweep leaves machine ${machine.providerid}, for its cluster is not planned yet and may take it over`,
      );
  }
}
