import { counts } from '../machine/drift.js';
import { filteredOut } from '../machine/selection.js';
import type { MachineView } from '../../schema/output/machine.js';
import type { Wanted } from './state.js';

/** Why a machine does not do for a reservation; undefined when it does. */
export function unfitText(
  {
    can,
    state,
    why,
    site,
    provider,
    type,
    drift,
    groups,
    labels,
    quarantine,
  }: Pick<
    MachineView,
    'can' | 'state' | 'why' | 'site' | 'provider' | 'type' | 'drift' | 'groups' | 'labels' | 'quarantine'
  >,
  wanted: Wanted,
): string | undefined {
  if (type === undefined) return 'it is still being registered';
  const out = filteredOut({ site, provider, groups, labels }, wanted);
  if (out !== undefined) return out;
  if (wanted.type !== undefined && type !== wanted.type) return `its provisioning system is ${type}`;
  const lacks = ['LOAD', ...(wanted.can ?? [])].filter((action) => !can.includes(action));
  if (lacks.length > 0) return `it does not support ${lacks.join(', ')}`;
  if (drift.some((one) => one.kind === 'gone' && counts(one)))
    return 'it is gone: its provider has no such machine';
  if (quarantine !== undefined) return `it is quarantined: ${quarantine.comment}`;
  return state === 'maintenance' ? `it is in maintenance${why === undefined ? '' : `: ${why}`}` : undefined;
}
