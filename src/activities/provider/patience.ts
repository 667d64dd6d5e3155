import { milliseconds } from '../../model/milliseconds.js';
import type { Placement } from '../../model/node/placement.js';
import type { ActivityParts } from '../parts.js';

/** Longest wait for a machine that exists and that nothing here can switch on, in ms. */
const existingMs = 60_000;

/**
 * How the wait for machines of an account differs from that for new ones.
 * @param confirmWithin of the spec, in seconds
 */
export function patienceFor(
  { providers, registry }: Pick<ActivityParts, 'providers' | 'registry'>,
  provider: string,
  confirmWithin: number | undefined,
): Pick<Placement, 'confirmWithinMs' | 'answerWithinMs' | 'isExisting'> {
  const account = providers[provider];
  const plugin = account === undefined ? undefined : registry.provider(account.type);
  const isExisting = plugin?.descriptor.capabilities.includes('claims') === true;
  const isSwitched = plugin?.abilities.includes('powerOn') === true;
  const limit = account?.limits?.confirmWithin;
  const existing = isExisting ? ({ isExisting } as const) : {};
  if (confirmWithin !== undefined) return { confirmWithinMs: milliseconds(confirmWithin), ...existing };
  if (!isExisting) return limit === undefined ? {} : { confirmWithinMs: milliseconds(limit) };
  const answerWithinMs = limit === undefined ? (isSwitched ? undefined : existingMs) : milliseconds(limit);
  return { ...(answerWithinMs === undefined ? {} : { answerWithinMs }), ...existing };
}
