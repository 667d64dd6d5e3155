import type { StaticMachine } from './machines.js';

/**
 * Slots of machines, as they are claimed: `NAME` is the first, `NAME#2` the second. The first ones of all
 * machines come before the second ones, so that nodes spread.
 */
export function slotsOf(machines: readonly StaticMachine[]): readonly string[] {
  const most = Math.max(0, ...machines.map(({ slots }) => slots));
  return Array.from({ length: most }, (_, index) =>
    machines
      .filter(({ slots }) => slots > index)
      .map(({ name }) => (index === 0 ? name : `${name}#${index + 1}`)),
  ).flat();
}

/** Whose place it is; there may be fewer places by now than when it was taken. */
export function machineOfSlot(machines: readonly StaticMachine[], slot: string): StaticMachine | undefined {
  const name = slot.replace(/#\d+$/, '');
  return machines.find((machine) => machine.name === name);
}
