import { describe, expect, it } from 'vitest';
import {
  type Lift,
  liftState,
  stateVersion,
  StateVersionError,
  upgradeState,
} from '../../src/model/cluster/upgrade-state.js';

const present = {
  stateVersion: 1,
  name: 'web',
  uid: 'u',
  retired: {},
  nodes: {},
  counters: { operation: 3, incarnation: 2, nodenum: 2 },
  peers: { version: 1, gone: {}, changedAt: {} },
  queue: [],
  history: [],
  features: { searchAttributes: true },
} as const;

describe('a state carried over from an earlier run', () => {
  it('of the present version is used unchanged', () => {
    expect(stateVersion).toBe(present.stateVersion);
    expect(upgradeState(present)).toBe(present);
  });

  const wrong: readonly (readonly [what: string, carried: unknown, words: RegExp])[] = [
    [
      'a newer version',
      { ...present, stateVersion: 2 },
      /version 2, and this build of Heddle knows versions up to 1.*Run workers of that build/,
    ],
    ['no version', { name: 'web' }, /stateVersion .* is missing/],
    ['version 0', { stateVersion: 0 }, /stateVersion .* is 0/],
    ['half a version', { stateVersion: 1.5 }, /is 1\.5; it is a whole number/],
    ['a version in words', { stateVersion: '1' }, /is "1"/],
    ['a list', [present], /state is a list/],
    ['null', null, /state is null/],
    ['nothing', undefined, /state is missing/],
    ['text', 'web', /state is "web"/],
  ];
  it.each(wrong)('is refused with %s', (_what, carried, words) => {
    expect(() => upgradeState(carried)).toThrow(StateVersionError);
    expect(() => upgradeState(carried)).toThrow(words);
  });
});

describe('upgrades', () => {
  const lifts: readonly Lift[] = [
    ({ host, ...state }) => ({ ...state, hosts: [host] }),
    (state) => ({ ...state, ports: [] }),
  ];
  const lifted = { stateVersion: 3, hosts: ['a'], ports: [] };
  const versions: readonly (readonly [version: number, carried: object])[] = [
    [1, { stateVersion: 1, host: 'a' }],
    [2, { stateVersion: 2, hosts: ['a'] }],
    [3, { stateVersion: 3, hosts: ['a'], ports: [] }],
  ];
  it.each(versions)('convert version %i to the present one', (_version, carried) => {
    const before = structuredClone(carried);
    expect(liftState(carried, lifts)).toEqual(lifted);
    expect(carried).toEqual(before);
  });

  it('end with the last version', () => {
    expect(() => liftState({ stateVersion: 4 }, lifts)).toThrow(/version 4.*up to 3/);
  });
});
