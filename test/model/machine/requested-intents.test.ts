import { describe, expect, it } from 'vitest';
import { machineContract } from '../../../src/model/machine/contract.js';
import { refusalOf } from '../../../src/model/machine/decide.js';
import type { MachineState } from '../../../src/model/machine/state.js';

const machine: MachineState = {
  name: 'm',
  uid: 'u',
  registration: { provider: 'p', flavor: 'f', image: 'i', fields: {}, system: null },
  state: 'available',
  payload: {},
  history: [],
  operations: 1,
  measured: {},
};
const until = '2026-07-01T09:01:00.000Z';
const hold = { kind: 'hold', reservation: 'r1', user: 'ada', until } as const;

/** What is wrong with a message of this intent. */
function faultIn(intent: object): string | undefined {
  const [shape] = machineContract.updates.operate.args;
  return shape({ intent, by: 'eve' }, 'it');
}

describe('messages to a machine', () => {
  it('cannot register it again: a registration that is cancelled deletes the machine', () => {
    expect(faultIn({ kind: 'register' })).toContain('kind');
    expect(faultIn({ kind: 'retry' })).toBeUndefined();
  });

  it('hold it until a time, for the reservation that sent them', () => {
    expect(faultIn(hold)).toBeUndefined();
    expect(faultIn({ ...hold, until: 'never' })).toContain('RFC 3339');
    expect(refusalOf(machine, hold, 'r1')).toBeUndefined();
    for (const asks of [undefined, 'r2'])
      expect(refusalOf(machine, hold, asks)).toMatch(/only by reservations.*heddle reservation create/);
    const held = { ...machine, holder: { reservation: 'r1', user: 'ada', until } };
    expect(refusalOf(held, { kind: 'let go' })).toMatch(/only by reservations/);
    expect(refusalOf(held, { kind: 'let go' }, 'r2')).toMatch(/no longer held by reservation r2/);
    expect(refusalOf(held, { kind: 'let go' }, 'r1')).toBeUndefined();
  });
});
