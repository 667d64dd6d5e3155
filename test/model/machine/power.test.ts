import { expect, it } from 'vitest';
import type { MachineAction } from '../../../src/model/machine/actions.js';
import type { NodeStatusReport } from '../../../src/model/machine/node-status.js';
import type { MachineTaskOutcome } from '../../../src/model/machine/messages.js';
import { powerAfter } from '../../../src/model/machine/power.js';

const seen = (rpower: 0 | 1 | null, ssh: 0 | 1 | null): MachineTaskOutcome => ({
  status: { rpower, ssh } as NodeStatusReport,
});

it.each<readonly [MachineAction, MachineTaskOutcome, 'on' | 'off' | undefined]>([
  ['POWER_ON', {}, 'on'],
  ['POWER_RESET', {}, 'on'],
  ['POWER_OFF', {}, 'off'],
  ['POWER_STATUS', { power: { power: 'off' } }, 'off'],
  ['POWER_STATUS', { power: { power: 'unknown' } }, undefined],
  ['ENROL', { power: { power: 'off' } }, 'off'],
  ['NODE_STATUS', seen(1, 0), 'on'],
  ['NODE_STATUS', seen(0, 0), 'off'],
  ['NODE_STATUS', seen(0, 1), undefined],
  ['NODE_STATUS', seen(null, 0), undefined],
  ['LOAD', {}, undefined],
])('after %s with %j the power is %s', (action, outcome, power) => {
  expect(powerAfter(action, outcome)).toBe(power);
});
