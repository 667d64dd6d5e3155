import { rowOf, type IntentKind, type IntentOf, type MachineIntent } from './intents.js';
import { labelsAfter, tagFault } from './selection.js';
import type { MachineState } from './state.js';
import { nextState, verbsFrom, type MachineStateName } from './transitions.js';

/** What an operation of one kind requires of its machine beyond a state in which its event is possible. */
interface Rule<Intent> {
  /** Why the machine refuses it; undefined if it does not. */
  readonly refuse?: (machine: MachineState, intent: Intent) => string | undefined;
  /** The actions that its provider must support; the first that it does not is named. */
  readonly needs?: (intent: Intent, can: (action: string) => boolean) => readonly string[];
  /** It uses the machine's operating system, which must run. */
  readonly usesSystem?: (can: (action: string) => boolean) => boolean;
  /** How it reads; its kind by default. */
  readonly words?: (intent: Intent) => string;
}

type Rules = { readonly [Kind in IntentKind]?: Rule<IntentOf<Kind>> };

/** States without a user. */
const movable: readonly MachineStateName[] = ['available', 'failed', 'maintenance'];

const rules: Rules = {
  retry: {
    refuse: (machine) =>
      isUnfinished(machine) || machine.account?.can.includes('READ_HARDWARE') === true
        ? undefined
        : `machine ${machine.name} has no failed registration, so there is nothing to retry`,
  },
  power: { words: ({ verb }) => `power ${verb}`, needs: ({ verb }) => [`POWER_${verb.toUpperCase()}`] },
  boot: { words: ({ device }) => `boot ${device} once`, needs: () => ['BOOT_ONCE'] },
  load: {
    words: ({ image }) => `load ${image.name}@${image.revision}`,
    needs: () => ['LOAD'],
    refuse({ name, state }, { force, only }) {
      if (force === true && only !== undefined)
        return `the steps after loading do not write the image, so they cannot be forced; run 'heddle machine load ${name} IMAGE --force' to write it`;
      if (force !== true && state === 'maintenance')
        return `machine ${name} is in maintenance; run 'heddle machine restore ${name}' to end it, or load with --force`;
      return undefined;
    },
  },
  capture: {
    words: ({ image }) => `capture ${image.name}@${image.revision}`,
    needs: () => ['CAPTURE', 'IMAGE_EXISTS'],
    usesSystem: (can) => can('PRE_CAPTURE'),
  },
  unload: { needs: (_, can) => (can('SANITIZE') ? [] : ['UNLOAD']), usesSystem: (can) => !can('UNLOAD') },
  reserve: {
    words: ({ user }) => `reserve for ${user}`,
    refuse: ({ name, quarantine }) =>
      quarantine === undefined
        ? undefined
        : `machine ${name} is quarantined: ${quarantine.comment}; ${endQuarantine(name)}`,
  },
  'log in': { words: ({ user }) => `log in for ${user}`, usesSystem: () => true },
  hold: {
    words: ({ user }) => `hold for ${user}`,
    refuse({ name, state, holder, user, quarantine }) {
      if (holder !== undefined) return undefined;
      if (quarantine !== undefined) return `machine ${name} is quarantined: ${quarantine.comment}`;
      if (hasUser(state)) return `machine ${name} is ${state}${user === undefined ? '' : ` (${user})`}`;
      return state === 'maintenance' || state === 'reloading'
        ? `machine ${name} is in state ${state}`
        : undefined;
    },
  },
  restore: {
    refuse: (machine) =>
      machine.half === undefined
        ? whyUnerased(machine)
        : `image ${machine.half.name}@${machine.half.revision} was only partly loaded on machine ${machine.name}; load an image with --force`,
  },
  correct: { words: ({ drift }) => `correct ${drift.join(', ') || 'nothing'}` },
  group: { words: ({ groups }) => `group ${groups.join(', ') || 'none'}` },
  label: { refuse: ({ labels }, intent) => tagFault({ labels: labelsAfter(labels, intent) }) },
  'end quarantine': {
    refuse: ({ name, quarantine }) =>
      quarantine === undefined ? `machine ${name} is not quarantined` : undefined,
  },
  move: {
    words: ({ to }) => `move to ${to.provider}`,
    refuse(machine) {
      const { name, state, access } = machine;
      if (!movable.includes(state))
        return `machine ${name} is ${state}${forUser(machine)}; only a free machine can be moved to another provider`;
      if (access !== undefined)
        return `the account of ${access.user} on machine ${name} was not revoked; run 'heddle machine restore ${name}' to try again, or load an image with --force`;
      return whyUnerased(machine) ?? whyNotReleased(machine);
    },
  },
  remove: {
    refuse(machine, { force }) {
      if (force === true) return undefined;
      const { name, state } = machine;
      if (hasUser(state))
        return `machine ${name} is ${state}${forUser(machine)}; use --force to remove it anyway`;
      const unerased = whyUnerased(machine);
      if (unerased !== undefined) return `${unerased}; use --force to remove it anyway`;
      const quarantined = whyNotReleased(machine);
      return quarantined === undefined ? undefined : `${quarantined}, or remove it with --force`;
    },
  },
};

function ruleOf(kind: IntentKind): Rule<MachineIntent> {
  return (rules[kind] ?? {}) as Rule<MachineIntent>;
}

export function describeIntent(intent: MachineIntent): string {
  return ruleOf(intent.kind).words?.(intent) ?? intent.kind;
}

/**
 * Why a machine does not take an operation now; undefined when it does. `asks`: the reservation that asks,
 * where it is one.
 */
export function refusalOf(machine: MachineState, intent: MachineIntent, asks?: string): string | undefined {
  const { name, operation, state } = machine;
  if (operation !== undefined) {
    return `machine ${name} is busy: ${describeIntent(operation.intent)} by ${operation.by} is running. Wait for it ('heddle machine show ${name}'), or cancel it ('heddle machine cancel ${name}')`;
  }
  const why = refuseOthers(machine, intent, asks) ?? ruleOf(intent.kind).refuse?.(machine, intent);
  if (why !== undefined) return why;
  const event = rowOf(intent.kind).begins;
  if (event !== undefined && nextState(state, event) === undefined)
    return `machine ${name} is ${state === 'maintenance' ? 'in maintenance' : state}${forUser(machine)}: ${describeIntent(intent)} is not possible; possible commands of heddle machine: ${verbsFrom(state).join(', ') || 'show'}`;
  return refuseUnable(machine, intent, asks);
}

/** Its registration failed, and a retry completes it. */
export function isUnfinished({ state, unconfirmed }: MachineState): boolean {
  return state === 'failed' && unconfirmed === true;
}

/** What becomes of a load that is no longer needed. `absent`: the machine has not accepted it. */
export type UnneededLoad = 'stop' | 'continue' | 'absent';

/** Before it writes, a load leaves the machine as it was; from then on only its end does. */
export function unneededLoad({ operation, history, half }: MachineState, key: string): UnneededLoad {
  if (operation?.key === key)
    return operation.intent.kind === 'load' && half === undefined ? 'stop' : 'continue';
  return history.some((ended) => ended.key === key) ? 'continue' : 'absent';
}

/** Why a machine refuses a request because of its holder; undefined if it does not. */
function refuseOthers(
  { name, state, holder }: MachineState,
  intent: MachineIntent,
  asks: string | undefined,
): string | undefined {
  if (
    intent.kind === 'hold'
      ? intent.reservation !== asks
      : rowOf(intent.kind).by !== undefined && asks === undefined
  )
    return `machine ${name} can be held and let go only by reservations; run 'heddle reservation create' to reserve it`;
  if (asks !== undefined && intent.kind !== 'hold' && holder?.reservation !== asks)
    return `machine ${name} is no longer held by reservation ${asks}`;
  // Who took it out of use meanwhile has the last word.
  if (asks !== undefined && state === 'maintenance' && (intent.kind === 'load' || intent.kind === 'unload'))
    return `machine ${name} is in maintenance`;
  if (holder === undefined || holder.reservation === asks || rowOf(intent.kind).whileHeld === true)
    return undefined;
  if (intent.kind === 'remove' && intent.force === true) return undefined;
  const { reservation, until } = holder;
  return `machine ${name} is reserved for ${holder.user} until ${until} (reservation ${reservation}); to take it out of use anyway, run 'heddle machine maintain ${name}'`;
}

/**
 * What its provider does not support; for people also a system that does not run: its steps
 * would be retried in vain.
 */
function refuseUnable(
  { name, account, keepsOff }: MachineState,
  intent: MachineIntent,
  asks: string | undefined,
): string | undefined {
  const { needs, usesSystem } = ruleOf(intent.kind);
  const can = (action: string): boolean => account?.can.includes(action) === true;
  const missing = account === undefined ? undefined : needs?.(intent, can).find((action) => !can(action));
  if (missing !== undefined)
    return `machine ${name} is of provider type ${account?.type}, which does not support ${missing}; supported: ${account?.can.join(', ')}`;
  return asks === undefined && keepsOff === true && usesSystem?.(can) === true
    ? `machine ${name} is switched off, but ${describeIntent(intent)} needs its operating system; run 'heddle machine power ${name} on' first`
    : undefined;
}

/** What a user left stays on the machine until it is erased. */
function whyUnerased({ name, unerased, account }: MachineState): string | undefined {
  return unerased === true && account?.can.includes('ERASE') === true
    ? `the disks of machine ${name} were not erased after its last user; run 'heddle machine unload ${name}' to erase them, or load an image with --force`
    : undefined;
}

/** Its provider could choose a quarantined machine for another node once it is released. */
function whyNotReleased({ name, quarantine }: MachineState): string | undefined {
  return quarantine === undefined
    ? undefined
    : `machine ${name} is quarantined, and its provider could allocate it to other users: ${quarantine.comment}; ${endQuarantine(name)}`;
}

function endQuarantine(name: string): string {
  return `run 'heddle machine quarantine ${name} --end' to end it`;
}

function hasUser(state: MachineStateName): boolean {
  return state === 'reserved' || state === 'in use';
}

function forUser({ user }: MachineState): string {
  return user === undefined ? '' : ` (${user})`;
}
