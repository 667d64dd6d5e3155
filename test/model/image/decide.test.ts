import { describe, expect, it } from 'vitest';
import type { Build, BuildState } from '../../../src/model/image/build.js';
import {
  afterFailure,
  isOver,
  nextWork,
  requestOfAge,
  rollbackRefusal,
  rotate,
  withdrawnAccounts,
} from '../../../src/model/image/decide.js';
import type { ImageSpec } from '../../../src/model/image/spec.js';
import type { ImageState } from '../../../src/model/image/state.js';

const at = Date.parse('2026-01-02T00:00:00Z');
const provenance = { recipe: '', source: '', by: 'test' };
const upload = { provider: 'local', type: 'local', site: 'default', state: 'ready' } as const;
const buildOf = (number: number, state: BuildState, part: Partial<Build> = {}): Build => ({
  number,
  state,
  startedAt: new Date(at).toISOString(),
  endedAt: new Date(at).toISOString(),
  files: [],
  uploads: [upload],
  provenance,
  notes: [],
  ...part,
});
const spec: ImageSpec = {
  name: 'web',
  command: { run: 'pack', environment: {}, formats: ['tar'], site: 'default' },
  services: {},
  validate: false,
  uploads: [],
  keep: 2,
  rebuildAge: 86400,
};
const stateOf = (part: Partial<ImageState> = {}): ImageState => ({
  name: 'web',
  uid: 'u',
  spec,
  builds: [],
  numbers: 0,
  machines: [],
  ...part,
});
const request = { by: 'ada', at: new Date(at).toISOString(), failed: 0 };

describe('an account that is taken out of uploads', () => {
  const at = (provider: string, state: 'ready' | 'failed' | 'deleting' = 'ready') => ({
    ...upload,
    provider,
    state,
  });
  const named = (...providers: readonly string[]): ImageSpec => ({
    ...spec,
    uploads: providers.map((provider) => ({ provider, format: 'tar' })),
  });

  it('has its uploads of all ready builds deleted, also failed ones and those of a build under way', () => {
    const before = stateOf({
      spec: named('a', 'b'),
      builds: [
        buildOf(3, 'building', { uploads: [] }),
        buildOf(2, 'ready', { uploads: [at('a'), at('b', 'failed')] }),
        buildOf(1, 'ready', { uploads: [at('a'), at('b')] }),
      ],
    });
    const withdrawn = withdrawnAccounts(before, ['a'], undefined);
    expect(withdrawn).toEqual(['b']);
    const state = { ...before, spec: named('a'), withdrawn };
    expect(nextWork(state, 0)).toMatchObject({ do: 'withdraw', build: { number: 2 } });
    expect(nextWork(state, 0, ['withdraw 2'])).toMatchObject({ do: 'withdraw', build: { number: 1 } });
    expect(nextWork(state, 0, ['withdraw 2', 'withdraw 1'])).toMatchObject({ do: 'wait' });
    const ended = { ...state, builds: [buildOf(3, 'ready', { uploads: [at('b')] })] };
    expect(nextWork(ended, 0)).toMatchObject({ do: 'withdraw', build: { number: 3 } });
    expect(withdrawnAccounts(ended, ['a'], undefined)).toEqual(['b']);
  });

  it('keeps them if it is named again, if a recipe captures there, or if it never was in uploads', () => {
    const builds = [buildOf(1, 'ready', { uploads: [at('a'), at('b'), at('c')] })];
    const state = stateOf({ spec: named('a', 'b'), builds });
    expect(
      withdrawnAccounts({ ...state, withdrawn: ['b'], spec: named('a') }, ['a', 'b'], undefined),
    ).toEqual([]);
    expect(withdrawnAccounts(state, ['a'], 'b')).toEqual([]);
    expect(withdrawnAccounts({ ...state, spec: named('a') }, ['a'], undefined)).toEqual([]);
  });

  it('is forgotten when nothing is left there', () => {
    const state = stateOf({
      spec: named('a'),
      withdrawn: ['b'],
      builds: [buildOf(1, 'ready', { uploads: [at('a')] })],
    });
    expect(withdrawnAccounts(state, ['a'], undefined)).toEqual([]);
  });
});

describe('what an image does next', () => {
  it.each<[string, ImageState, readonly string[], object]>([
    ['nothing is asked for', stateOf(), [], { do: 'wait' }],
    ['a build is asked for', stateOf({ request }), [], { do: 'build' }],
    [
      'paused: the request stays',
      stateOf({ request, paused: { by: 'ada', at: '', why: '' } }),
      [],
      { do: 'wait' },
    ],
    [
      'one failed: not at once',
      stateOf({ request: { ...request, notBefore: at + 500 } }),
      [],
      { do: 'wait', forMs: 500 },
    ],
    [
      'an old build goes first',
      stateOf({ request, builds: [buildOf(2, 'ready'), buildOf(1, 'deleting')] }),
      [],
      { do: 'drop', build: { number: 1 } },
    ],
    [
      'what could not go is left for the next round',
      stateOf({ request, builds: [buildOf(2, 'ready'), buildOf(1, 'deleting')] }),
      ['drop 1'],
      { do: 'build' },
    ],
    [
      'what failed leaves nothing',
      stateOf({ builds: [buildOf(1, 'failed')] }),
      [],
      { do: 'drop', build: { number: 1 } },
    ],
    [
      'and is only remembered then',
      stateOf({ builds: [buildOf(1, 'failed', { uploads: [] })] }),
      [],
      { do: 'wait' },
    ],
    [
      'an upload waits, and uploads to its account are paused',
      stateOf({
        builds: [buildOf(1, 'ready', { uploads: [{ ...upload, state: 'waiting' }] })],
        pausedUploads: { local: { by: 'ada', at: '' } },
      }),
      [],
      { do: 'wait' },
    ],
    [
      'an upload waits',
      stateOf({ builds: [buildOf(1, 'ready', { uploads: [{ ...upload, state: 'waiting' }] })] }),
      [],
      { do: 'upload', build: { number: 1 } },
    ],
    [
      'a failed upload of the newest',
      stateOf({ builds: [buildOf(1, 'ready', { uploads: [{ ...upload, state: 'failed' }] })] }),
      [],
      { do: 'upload', build: { number: 1 } },
    ],
    [
      'on its way out nothing is built',
      stateOf({ request, leaving: { by: 'ada', at: '' } }),
      [],
      { do: 'wait' },
    ],
  ])('%s', (_title, state, tried, work) => {
    expect(nextWork(state, at, tried)).toMatchObject(work);
  });

  it('ends when none of it is left anywhere, regardless of recorded builds', () => {
    const leaving = { by: 'ada', at: '' };
    expect(isOver(stateOf({ leaving, builds: [buildOf(1, 'cancelled', { uploads: [] })] }))).toBe(true);
    expect(isOver(stateOf({ leaving, builds: [buildOf(1, 'deleting')] }))).toBe(false);
    expect(isOver(stateOf({ leaving, builds: [buildOf(1, 'building', { uploads: [] })] }))).toBe(false);
    expect(isOver(stateOf())).toBe(false);
  });
});

describe('age', () => {
  it('requests a build if there is none, or if the newest is too old', () => {
    expect(requestOfAge(stateOf(), at)).toMatchObject({ by: 'there is none' });
    expect(requestOfAge(stateOf({ builds: [buildOf(1, 'ready')] }), at + 86_399_999)).toBeUndefined();
    expect(requestOfAge(stateOf({ builds: [buildOf(1, 'ready')] }), at + 86_400_000)).toMatchObject({
      by: 'its age',
    });
    expect(requestOfAge(stateOf({ request }), at)).toBeUndefined();
    const { rebuildAge: _age, ...onRequest } = spec;
    expect(requestOfAge(stateOf({ spec: onRequest }), at)).toBeUndefined();
  });

  it('waits longer after each failure, up to an hour', () => {
    expect(afterFailure(request, at)).toMatchObject({ failed: 1, notBefore: at + 60_000 });
    expect(afterFailure({ ...request, failed: 1 }, at)).toMatchObject({ failed: 2, notBefore: at + 120_000 });
    expect(afterFailure({ ...request, failed: 40 }, at).notBefore).toBe(at + 3_600_000);
  });
});

describe('which builds are kept', () => {
  it('the newest ready ones are; failed ones in between do not count', () => {
    const builds = [
      buildOf(5, 'ready'),
      buildOf(4, 'failed', { uploads: [] }),
      buildOf(3, 'ready'),
      buildOf(2, 'ready'),
      buildOf(1, 'deleting'),
    ];
    expect(rotate(builds, 2).map(({ number, state }) => [number, state])).toEqual([
      [5, 'ready'],
      [4, 'failed'],
      [3, 'ready'],
      [2, 'deleting'],
      [1, 'deleting'],
    ]);
  });

  it('the newest one at an account with paused uploads is, until it gets another', () => {
    const held = { ...upload, provider: 'far' };
    const waiting = { ...held, state: 'waiting' } as const;
    const builds = [
      buildOf(4, 'ready', { uploads: [upload, waiting] }),
      buildOf(3, 'ready', { uploads: [upload, waiting] }),
      buildOf(2, 'ready', { uploads: [upload, held] }),
      buildOf(1, 'ready', { uploads: [upload, held] }),
    ];
    const deleted = (part: Pick<ImageState, 'pausedUploads'>): readonly number[] =>
      rotate(builds, 2, part.pausedUploads)
        .filter(({ state }) => state === 'deleting')
        .map(({ number }) => number);
    expect(deleted({ pausedUploads: { far: { by: 'ada', at: '' } } })).toEqual([1]);
    expect(deleted({ pausedUploads: { other: { by: 'ada', at: '' } } })).toEqual([2, 1]);
    expect(deleted({})).toEqual([2, 1]);
  });

  it('a rollback needs an earlier build', () => {
    expect(rollbackRefusal(stateOf())).toMatch(/no ready build/);
    expect(rollbackRefusal(stateOf({ builds: [buildOf(1, 'ready')] }))).toMatch(/no build before 1/);
    expect(rollbackRefusal(stateOf({ builds: [buildOf(2, 'ready'), buildOf(1, 'ready')] }))).toBeUndefined();
  });
});
