import type { MachineIntent, MachineState } from './state.js';

/** Operations that are always allowed: queries, power, and taking the machine out of use. */
const open: readonly MachineIntent['kind'][] = [
  'status',
  'power',
  'boot',
  'maintain',
  'restore',
  'correct',
  'group',
  'label',
  'quarantine',
  'end quarantine',
];

/** Why a machine refuses a request because of its holder; undefined if it does not. */
export function refuseOthers(
  { name, state, holder, user, quarantine }: MachineState,
  intent: MachineIntent,
  asks: string | undefined,
): string | undefined {
  if (intent.kind === 'hold' && holder === undefined && quarantine !== undefined)
    return `machine ${name} is quarantined: ${quarantine.comment}`;
  if (intent.kind === 'hold' && holder === undefined && (state === 'in use' || state === 'reserved'))
    return `machine ${name} is ${state}${user === undefined ? '' : ` (${user})`}`;
  if (intent.kind === 'hold' && holder === undefined && (state === 'maintenance' || state === 'reloading'))
    return `machine ${name} is in state ${state}`;
  if (asks !== undefined && intent.kind !== 'hold' && holder?.reservation !== asks)
    return `machine ${name} is no longer held by reservation ${asks}`;
  // Who took it out of use meanwhile has the last word.
  if (asks !== undefined && state === 'maintenance' && (intent.kind === 'load' || intent.kind === 'unload'))
    return `machine ${name} is in maintenance`;
  if (holder === undefined || holder.reservation === asks || open.includes(intent.kind)) return undefined;
  if (intent.kind === 'remove' && intent.force === true) return undefined;
  const { reservation, until } = holder;
  return `machine ${name} is reserved for ${holder.user} until ${until} (reservation ${reservation}); to take it out of use anyway, run 'heddle machine maintain ${name}'`;
}
