import type { MachineTaskOutcome } from '../../model/machine/messages.js';
import { slotsOf } from '../../model/names.js';
import { PluginError } from '../../plugins/errors.js';
import type { Claims } from '../../plugins/contract.js';
import type { MachineCall } from '../task-call.js';

/** Holders of places that a message names. */
const mostNamed = 5;

/** Waiting for a place holds no worker: each attempt asks once. */
export async function acquirePermit(
  call: MachineCall,
  places: number,
  what: string,
): Promise<MachineTaskOutcome> {
  const claims = claimsFor(call);
  call.attempt.at('requests a permit');
  const taken = await claims.take(
    call.request.clusterId,
    Array.from({ length: places }, (_, index) => String(index + 1)),
  );
  if (taken !== undefined) return {};
  // Names of places for builds have a suffix.
  const site = call.request.order.slots?.site.split('/')[0];
  const holders = Object.values(await claims.held()).toSorted();
  throw new PluginError(
    'NotReady',
    `all ${places} permits for ${what} at site ${site} are in use${holders.length === 0 ? '' : `, by ${listed(holders)}`}`,
    { retryAfterMs: 1_000 },
  );
}

function listed(names: readonly string[]): string {
  const more = names.length - mostNamed;
  return `${names.slice(0, mostNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

export async function releasePermit(call: MachineCall): Promise<MachineTaskOutcome> {
  await claimsFor(call).release(call.request.clusterId);
  return {};
}

function claimsFor({
  parts,
  request: {
    order: { slots },
  },
}: MachineCall): Claims {
  if (slots === undefined) throw new PluginError('Invalid', 'the task requests a permit, but names no site');
  return parts.claims(slotsOf(slots.site));
}
