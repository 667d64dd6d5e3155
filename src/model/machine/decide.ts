import { labelsAfter, tagFault } from './selection.js';
import type { MachineIntent, MachineState } from './state.js';
import { nextState, verbsFrom, type MachineEvent, type MachineStateName } from './transitions.js';

/** The event that an operation begins with; absent where it needs none. */
export const openingEvents: Readonly<Partial<Record<MachineIntent['kind'], MachineEvent>>> = {
  load: 'begin load',
  unload: 'begin load',
  capture: 'begin capture',
  reserve: 'reserve',
  'log in': 'log in',
  'time out': 'time out',
  release: 'release',
  maintain: 'maintain',
  restore: 'restore',
};

/** States without a user. */
const movable: readonly MachineStateName[] = ['available', 'failed', 'maintenance'];

/**
 * Why a machine does not take an operation now; undefined when it does. `asks`: the reservation that asks,
 * where it is one.
 */
export function refusalOf(machine: MachineState, intent: MachineIntent, asks?: string): string | undefined {
  const { name, operation, state, half, account } = machine;
  if (operation !== undefined) {
    return `machine ${name} is busy: ${describeIntent(operation.intent)} by ${operation.by} is running. Wait for it ('heddle machine show ${name}'), or cancel it ('heddle machine cancel ${name}')`;
  }
  const notTheirs = refuseOthers(machine, intent, asks);
  if (notTheirs !== undefined) return notTheirs;
  if (intent.kind === 'remove' && intent.force !== true && (state === 'reserved' || state === 'in use'))
    return `machine ${name} is ${state}${forUser(machine)}; use --force to remove it anyway`;
  if (intent.kind === 'move' && !movable.includes(state))
    return `machine ${name} is ${state}${forUser(machine)}; only a free machine can be moved to another provider`;
  if (intent.kind === 'move' && machine.access !== undefined) {
    const again = `run 'heddle machine restore ${name}' to try again, or load an image with --force`;
    return `the account of ${machine.access.user} on machine ${name} was not revoked; ${again}`;
  }
  if (intent.kind === 'load' && intent.force === true && intent.only !== undefined)
    return `the steps after loading do not write the image, so they cannot be forced; run 'heddle machine load ${name} IMAGE --force' to write it`;
  if (intent.kind === 'load' && intent.force !== true && state === 'maintenance')
    return `machine ${name} is in maintenance; run 'heddle machine restore ${name}' to end it, or load with --force`;
  if (intent.kind === 'restore' && half !== undefined)
    return `image ${half.name}@${half.revision} was only partly loaded on machine ${name}; load an image with --force`;
  const whyKept = refuseUnerased(machine, intent) ?? refuseQuarantined(machine, intent);
  if (whyKept !== undefined) return whyKept;
  if (intent.kind === 'retry' && !isUnfinished(machine) && account?.can.includes('READ_HARDWARE') !== true)
    return `machine ${name} has no failed registration, so there is nothing to retry`;
  if (intent.kind === 'label') return tagFault({ labels: labelsAfter(machine.labels, intent) });
  const event = openingEvents[intent.kind];
  if (event === undefined || nextState(state, event) !== undefined)
    return lackingAbility(machine, intent) ?? (asks === undefined ? refuseOff(machine, intent) : undefined);
  return `machine ${name} is ${state === 'maintenance' ? 'in maintenance' : state}${forUser(machine)}: ${describeIntent(intent)} is not possible; possible commands of heddle machine: ${verbsFrom(state).join(', ') || 'show'}`;
}

/** Its registration failed, and a retry completes it. */
export function isUnfinished({ state, unconfirmed }: MachineState): boolean {
  return state === 'failed' && unconfirmed === true;
}

/** What a user left stays on the machine until it is erased. */
function refuseUnerased(
  { name, unerased, account }: MachineState,
  intent: MachineIntent,
): string | undefined {
  if (unerased !== true || account?.can.includes('ERASE') !== true) return undefined;
  const why = `the disks of machine ${name} were not erased after its last user; run 'heddle machine unload ${name}' to erase them, or load an image with --force`;
  if (intent.kind === 'restore' || intent.kind === 'move') return why;
  return intent.kind === 'remove' && intent.force !== true
    ? `${why}; use --force to remove it anyway`
    : undefined;
}

/** Nothing chooses a quarantined machine: neither a user nor, once it is released, its provider for another node. */
function refuseQuarantined({ name, quarantine }: MachineState, intent: MachineIntent): string | undefined {
  if (quarantine === undefined)
    return intent.kind === 'end quarantine' ? `machine ${name} is not quarantined` : undefined;
  const { comment } = quarantine;
  const release = `run 'heddle machine quarantine ${name} --end' to end it`;
  const released = `machine ${name} is quarantined, and its provider could allocate it to other users: ${comment}; ${release}`;
  if (intent.kind === 'reserve') return `machine ${name} is quarantined: ${comment}; ${release}`;
  if (intent.kind === 'move') return released;
  return intent.kind === 'remove' && intent.force !== true
    ? `${released}, or remove it with --force`
    : undefined;
}

/** What becomes of a load that is no longer needed. `absent`: the machine has not accepted it. */
export type UnneededLoad = 'stop' | 'continue' | 'absent';

/** Before it writes, a load leaves the machine as it was; from then on only its end does. */
export function unneededLoad({ operation, history, half }: MachineState, key: string): UnneededLoad {
  if (operation?.key === key)
    return operation.intent.kind === 'load' && half === undefined ? 'stop' : 'continue';
  return history.some((ended) => ended.key === key) ? 'continue' : 'absent';
}

export function describeIntent(intent: MachineIntent): string {
  switch (intent.kind) {
    case 'power':
      return `power ${intent.verb}`;
    case 'boot':
      return `boot ${intent.device} once`;
    case 'load':
    case 'capture':
      return `${intent.kind} ${intent.image.name}@${intent.image.revision}`;
    case 'reserve':
    case 'log in':
      return `${intent.kind} for ${intent.user}`;
    case 'hold':
      return `hold for ${intent.user}`;
    case 'move':
      return `move to ${intent.to.provider}`;
    case 'correct':
      return `correct ${intent.drift.join(', ') || 'nothing'}`;
    case 'group':
      return `group ${intent.groups.join(', ') || 'none'}`;
    default:
      return intent.kind;
  }
}

/** Steps of the machine's own system would be retried until their budget is over. */
function refuseOff({ name, keepsOff, account }: MachineState, intent: MachineIntent): string | undefined {
  const can = (action: string): boolean => account?.can.includes(action) === true;
  const asksSystem =
    intent.kind === 'log in' ||
    (intent.kind === 'capture' && can('PRE_CAPTURE')) ||
    (intent.kind === 'unload' && !can('UNLOAD'));
  return keepsOff === true && asksSystem
    ? `machine ${name} is switched off, but ${describeIntent(intent)} needs its operating system; run 'heddle machine power ${name} on' first`
    : undefined;
}

function lackingAbility({ account, name }: MachineState, intent: MachineIntent): string | undefined {
  if (account === undefined) return undefined;
  const lacks = (action: string): string | undefined =>
    account.can.includes(action)
      ? undefined
      : `machine ${name} is of provider type ${account.type}, which does not support ${action}; supported: ${account.can.join(', ')}`;
  if (intent.kind === 'power') return lacks(`POWER_${intent.verb.toUpperCase()}`);
  if (intent.kind === 'boot') return lacks('BOOT_ONCE');
  if (intent.kind === 'load') return lacks('LOAD');
  if (intent.kind === 'capture') return lacks('CAPTURE') ?? lacks('IMAGE_EXISTS');
  if (intent.kind === 'unload' && !account.can.includes('UNLOAD') && !account.can.includes('SANITIZE'))
    return lacks('UNLOAD');
  return undefined;
}

function forUser({ user }: MachineState): string {
  return user === undefined ? '' : ` (${user})`;
}

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
function refuseOthers(
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
