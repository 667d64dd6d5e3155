import type { MachineTaskOutcome } from '../../model/machine/messages.js';
import { change, now } from '../entity.js';
import type { MachineMemory } from './memory.js';
import { can, runAction } from './run-step.js';

/** Longest time for the disks of a machine, in ms. */
export const eraseMs = 24 * 3_600_000;

/** A user was in the machine, and its account names disks that are erased then. */
export function mustErase(memory: MachineMemory): boolean {
  return memory.state.unerased === true && can(memory, 'ERASE');
}

/** Erases the disks of the machine, and records the proof. */
export async function erase(memory: MachineMemory): Promise<void> {
  // Also if it is interrupted, or cancelled.
  change(memory, { unerased: true });
  recordErased(memory, await runAction(memory, 'ERASE'));
}

export function recordErased(memory: MachineMemory, { erased }: MachineTaskOutcome): void {
  change(memory, {
    unerased: undefined,
    ...(erased === undefined ? {} : { erasure: { at: now(), disks: erased } }),
  });
}
