import { describe, expect, it } from 'vitest';
import { refusalOf } from '../../../src/model/machine/decide.js';
import { afterOperation } from '../../../src/model/machine/quarantine.js';
import type { MachineOperation, MachineState } from '../../../src/model/machine/state.js';

const quarantine = { by: 'ada', comment: 'a fan', since: '2026-07-01T09:00:00Z' };
const machine = (part: Partial<MachineState> = {}): MachineState => ({
  name: 'm',
  uid: 'u',
  registration: { provider: 'p', flavor: 'f', image: 'i', fields: {}, system: null },
  state: 'available',
  payload: {},
  history: [],
  operations: 1,
  measured: {},
  account: { type: 't', site: 's', flavor: 'f', image: 'i', can: ['LOAD'], quarantineAfter: 3 },
  ...part,
});
const ended = (part: Partial<MachineOperation> = {}): MachineOperation => ({
  id: '7',
  intent: { kind: 'power', verb: 'on' },
  by: 'ada',
  state: 'failed',
  startedAt: '2026-07-01T09:00:00Z',
  endedAt: '2026-07-01T09:01:00Z',
  failure: {
    taskId: 't',
    action: 'POWER_ON',
    kind: 'Invalid',
    message: 'no power',
    at: '2026-07-01T09:01:00Z',
  },
  notes: [],
  ...part,
});
const unusable = { ...ended().failure, action: 'LOAD', kind: 'ImageUnusable' } as MachineOperation['failure'];
const noImage = { ...ended().failure, action: 'IMAGE_EXISTS' } as MachineOperation['failure'];

describe('failures of a machine in a row', () => {
  it.each<readonly [string, Partial<MachineState>, Partial<MachineOperation>, object]>([
    ['a first failure is counted', {}, {}, { failures: 1 }],
    ['a success ends the row', { failures: 2 }, { state: 'done' }, { failures: 0 }],
    ['a cancelled operation says nothing', { failures: 2 }, { state: 'cancelled' }, {}],
    ['a status says nothing', { failures: 2 }, { intent: { kind: 'status' } }, {}],
    ['an image that does not exist is not its fault', { failures: 2 }, { failure: noImage }, {}],
    [
      'an image that is gone when it is to be written is not its fault',
      { failures: 2 },
      { failure: unusable },
      {},
    ],
    ['a quarantine by people stays as it is', { failures: 2, quarantine }, {}, { failures: 3 }],
    ["the machine of a node is its owner's", { failures: 2, owner: 'cluster/web' }, {}, {}],
    [
      'an account recorded before the setting existed has no limit',
      { failures: 9, account: { type: 't', site: 's', flavor: 'f', image: 'i', can: [] } },
      {},
      { failures: 10 },
    ],
  ])('%s', (_, before, operation, after) => {
    expect(afterOperation(machine(before), ended(operation))).toEqual(after);
  });

  it('quarantine it when there are as many as the setting says', () => {
    expect(afterOperation(machine({ failures: 2 }), ended())).toEqual({
      failures: 3,
      quarantine: {
        by: 'heddle',
        comment: '3 consecutive operations failed; the last, operation 7: no power',
        since: '2026-07-01T09:01:00Z',
      },
    });
  });
});

describe('a quarantined machine', () => {
  it('refuses users and reservations, and its removal, but no operation of an administrator', () => {
    const state = machine({ quarantine });
    expect(refusalOf(state, { kind: 'reserve', user: 'bob' })).toMatch(/quarantined: a fan.*--end/);
    // Its present provider would give it to others.
    expect(refusalOf(state, { kind: 'move', to: { provider: 'q' } })).toMatch(/quarantined.*a fan/);
    const hold = { kind: 'hold', reservation: 'r1', user: 'bob', until: quarantine.since } as const;
    expect(refusalOf(state, hold, 'r1')).toMatch(/quarantined: a fan/);
    expect(refusalOf(state, { kind: 'remove' })).toMatch(/quarantined.*--force/);
    expect(refusalOf(state, { kind: 'remove', force: true })).toBeUndefined();
    expect(refusalOf(state, { kind: 'load', image: { name: 'i', revision: '1' } })).toBeUndefined();
    expect(refusalOf(machine(), { kind: 'end quarantine' })).toMatch(/not quarantined/);
  });
});
