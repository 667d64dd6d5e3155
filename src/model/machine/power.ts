import type { MachineAction } from './actions.js';
import type { MachineTaskOutcome } from './messages.js';

export function switchesPower(action: MachineAction): boolean {
  return action === 'POWER_ON' || action === 'POWER_OFF' || action === 'POWER_RESET';
}

/** The power after a completed action; undefined if the action does not determine it. */
export function powerAfter(
  action: MachineAction,
  { power, status }: Pick<MachineTaskOutcome, 'power' | 'status'>,
): 'on' | 'off' | undefined {
  if (switchesPower(action)) return action === 'POWER_OFF' ? 'off' : 'on';
  if (power !== undefined) return power.power === 'unknown' ? undefined : power.power;
  if (status?.rpower === 1) return 'on';
  // A machine that answers is not off.
  return status?.rpower === 0 && status.ssh !== 1 ? 'off' : undefined;
}
