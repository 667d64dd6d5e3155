/**
 * States of a machine as users see them.
 * `enrolling`: its registration is not complete.
 * `reserved`: for a user who has not logged in yet.
 * `timeout`: the user never logged in.
 * `failed`: its disk holds no image that is known to be valid.
 * `maintenance`: only people end it.
 */
export const machineStates = [
  'enrolling',
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

/** All allowed transitions; others are refused. `before`: the state before the load or capture began. */
const transitions: Readonly<
  Record<MachineStateName, Readonly<Partial<Record<MachineEvent, MachineStateName | 'before'>>>>
> = {
  enrolling: {},
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
  // A failed capture leaves the machine here, with the user's work on it; a successful one continues by
  // loading the new image.
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
