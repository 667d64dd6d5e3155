/**
 * Where a machine stands, as those who want one see it. `reserved`: for a user who has not come yet.
 * `timeout`: the user never came. `failed`: what is on its disk is not an image, or not known to be one.
 * `maintenance`: only people take it out.
 */
export const machineStates = [
  'available',
  'reserved',
  'in use',
  'reloading',
  'failed',
  'maintenance',
  'timeout',
] as const;
export type MachineStateName = (typeof machineStates)[number];

export const machineEvents = [
  'reserve',
  'log in',
  'time out',
  'release',
  'begin load',
  'load done',
  'load left out',
  'load failed',
  'begin capture',
  'capture left out',
  'maintain',
  'restore',
] as const;
export type MachineEvent = (typeof machineEvents)[number];

/**
 * All that is allowed; what is not here is refused. `before`: the state that it had when the load, or the
 * capture, began.
 */
const transitions: Readonly<
  Record<MachineStateName, Readonly<Partial<Record<MachineEvent, MachineStateName | 'before'>>>>
> = {
  available: {
    reserve: 'reserved',
    'begin load': 'reloading',
    'begin capture': 'maintenance',
    maintain: 'maintenance',
  },
  reserved: {
    'log in': 'in use',
    'time out': 'timeout',
    release: 'available',
    'begin load': 'reloading',
    'begin capture': 'maintenance',
    maintain: 'maintenance',
  },
  // Its user may have changed anything: the only way out is a load.
  'in use': { 'begin load': 'reloading', 'begin capture': 'maintenance', maintain: 'maintenance' },
  // `left out`: nothing was written.
  reloading: { 'load done': 'available', 'load left out': 'before', 'load failed': 'failed' },
  failed: { 'begin load': 'reloading', maintain: 'maintenance' },
  // A capture that fails leaves it here, with the user's work on it; one that is done goes on by loading what
  // it made.
  maintenance: {
    'begin load': 'reloading',
    'begin capture': 'maintenance',
    'capture left out': 'before',
    maintain: 'maintenance',
    restore: 'available',
  },
  timeout: { 'begin load': 'reloading', release: 'available', maintain: 'maintenance' },
};

/** Undefined where the event is not allowed. */
export function nextState(
  from: MachineStateName,
  event: MachineEvent,
  before: MachineStateName = from,
): MachineStateName | undefined {
  const next = transitions[from][event];
  return next === 'before' ? before : next;
}

const verbs: Readonly<Partial<Record<MachineEvent, string>>> = {
  reserve: 'reserve',
  'log in': 'log-in',
  release: 'release',
  'begin load': 'load',
  'begin capture': 'capture',
  maintain: 'maintain',
  restore: 'restore',
};

/** What people may ask of it, in the words of the command line. */
export function verbsFrom(from: MachineStateName): readonly string[] {
  return machineEvents.flatMap((event) =>
    transitions[from][event] === undefined ? [] : (verbs[event] ?? []),
  );
}
