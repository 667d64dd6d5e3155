import { describe, expect, it } from 'vitest';
import {
  correctionOf,
  counts,
  type Observation,
  noteReadings,
  noteTry,
} from '../../../src/model/machine/drift.js';
import { driftKinds } from '../../../src/model/machine/intents.js';
import type { MachineState } from '../../../src/model/machine/state.js';
import type { Drift } from '../../../src/schema/output/machine.js';

const web = { name: 'web', revision: '3' } as const;
const stateOf = (part: Partial<MachineState> = {}): MachineState => ({
  name: 'm',
  uid: 'u',
  registration: { provider: 'local', flavor: '', image: '', fields: {}, system: 'linux' },
  state: 'available',
  payload: {},
  history: [],
  operations: 0,
  measured: {},
  image: { ...web, since: '' },
  ...part,
});
const right: Observation = { there: 'yes', power: 'on', image: web };
const look = (machine: MachineState, ...observations: readonly Observation[]): MachineState =>
  observations.reduce<MachineState>(
    (state, one, index) => ({ ...state, drift: noteReadings(state, one, `t${index + 1}`) }),
    machine,
  );
const kindsThatCount = ({ drift = [] }: MachineState): readonly string[] =>
  drift.filter(counts).map(({ kind }) => kind);

describe('drift of a machine', () => {
  it.each<[string, Partial<MachineState>, readonly Observation[], readonly string[]]>([
    ['all is right', {}, [right, right], []],
    ['one reading does not count', {}, [{ ...right, power: 'off' }], []],
    [
      'two equal ones do',
      {},
      [
        { ...right, power: 'off' },
        { ...right, power: 'off' },
      ],
      ['power'],
    ],
    [
      'a right one in between begins anew',
      {},
      [{ ...right, power: 'off' }, right, { ...right, power: 'off' }],
      [],
    ],
    [
      'one that is not known neither counts nor ends it',
      {},
      [
        { ...right, power: 'off' },
        { ...right, power: 'unknown' },
        { ...right, power: 'off' },
      ],
      ['power'],
    ],
    [
      'nothing that is not known is ever drift',
      {},
      [
        { there: 'unknown', power: 'unknown' },
        { there: 'unknown', power: 'unknown' },
      ],
      [],
    ],
    [
      'it was switched off on request',
      { keepsOff: true },
      [
        { ...right, power: 'off' },
        { ...right, power: 'off' },
      ],
      [],
    ],
    ['and it was switched on', { keepsOff: true }, [right, right], ['power']],
    [
      'another image, twice the same',
      {},
      [
        { ...right, image: { name: 'web', revision: '2' } },
        { ...right, image: { name: 'web', revision: '2' } },
      ],
      ['image'],
    ],
    [
      'two other images are two readings',
      {},
      [
        { ...right, image: { name: 'web', revision: '2' } },
        { ...right, image: null },
      ],
      [],
    ],
    [
      'no image was loaded',
      { image: undefined as never },
      [
        { ...right, image: null },
        { ...right, image: null },
      ],
      [],
    ],
    [
      'gone: its power says nothing',
      {},
      [
        { there: 'no', power: 'off' },
        { there: 'no', power: 'off' },
      ],
      ['gone'],
    ],
  ])('%s', (_title, part, looks, expected) => {
    const { image, ...state } = stateOf(part);
    expect(kindsThatCount(look(image === undefined ? state : { ...state, image }, ...looks))).toEqual(
      expected,
    );
  });

  it('records since when and how often', () => {
    const { drift } = look(
      stateOf(),
      { ...right, power: 'off' },
      { ...right, power: 'off' },
      { ...right, power: 'off' },
    );
    expect(drift).toEqual([{ kind: 'power', expected: 'on', found: 'off', since: 't1', seen: 3, tries: 0 }]);
  });
});

describe('actions', () => {
  const off: Drift = { kind: 'power', expected: 'on', found: 'off', since: '', seen: 2, tries: 0 };
  const other: Drift = { ...off, kind: 'image', expected: 'web@3', found: 'web@2' };
  const gone: Drift = { ...off, kind: 'gone', expected: 'there', found: 'gone' };

  it.each<[string, Partial<MachineState>, object | undefined]>([
    ['nothing, where the policy says nothing', { drift: [off, other, gone] }, undefined],
    ['nothing before it counts', { drift: [{ ...off, seen: 1 }], correct: driftKinds }, undefined],
    ['switched on', { drift: [off], correct: ['power'] }, { kind: 'power', verb: 'on' }],
    [
      'switched off again',
      { drift: [{ ...off, expected: 'off', found: 'on' }], correct: ['power'] },
      { kind: 'power', verb: 'off' },
    ],
    ['loaded again', { drift: [other], correct: ['image'] }, { kind: 'load', image: web }],
    [
      'taken out of use',
      { drift: [gone], correct: ['gone'] },
      { kind: 'maintain', reason: 'it is gone: its provider has no such machine' },
    ],
    [
      'never an image of a machine in use',
      { drift: [other], correct: driftKinds, state: 'in use' },
      undefined,
    ],
    [
      'nothing in maintenance',
      { drift: [off, other, gone], correct: driftKinds, state: 'maintenance' },
      undefined,
    ],
    ['not a fourth time', { drift: [{ ...off, tries: 3 }], correct: ['power'] }, undefined],
  ])('%s', (_title, part, intent) => {
    expect(correctionOf(stateOf(part))?.intent).toEqual(intent);
  });

  it('attempts are counted by kind', () => {
    expect(noteTry([off, other], 'image').map(({ tries }) => tries)).toEqual([0, 1]);
  });
});
