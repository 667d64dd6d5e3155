import type { MachineTaskOutcome } from '../../model/machine/messages.js';
import { slotsOf } from '../../model/names.js';
import { PluginError } from '../../plugins/errors.js';
import type { Claims } from '../../plugins/contract.js';
import type { MachineCall } from '../task-call.js';

/** Waiting for a place holds no worker: each attempt asks once. */
export async function acquirePermit(
  call: MachineCall,
  places: number,
  what: string,
): Promise<MachineTaskOutcome> {
  const claims = claimsFor(call);
  call.attempt.at('asks for a place');
  const taken = await claims.take(
    call.request.clusterId,
    Array.from({ length: places }, (_, index) => String(index + 1)),
  );
  if (taken !== undefined) return {};
  throw new PluginError(
    'NotReady',
    `all ${places} places for ${what} of site ${call.request.order.slots?.site} are taken`,
    { retryAfterMs: 1_000 },
  );
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
  if (slots === undefined)
    throw new PluginError('Invalid', 'the task names no site whose places it asks for');
  return parts.claims(slotsOf(slots.site));
}
