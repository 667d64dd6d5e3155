import { describe, expect, it } from 'vitest';
import { refusalOf } from '../../../src/model/machine/decide.js';
import { answerOfFailure } from '../../../src/model/machine/answer.js';
import { formatImageRef, parseImageRef } from '../../../src/model/machine/image.js';
import type { MachineIntent } from '../../../src/model/machine/intents.js';
import type { MachineState } from '../../../src/model/machine/state.js';
import { faultOf } from '../../../src/model/machine/request.js';
import {
  machineEvents,
  machineStates,
  nextState,
  type MachineEvent,
  type MachineStateName,
} from '../../../src/model/machine/transitions.js';
import {
  captureSteps,
  estimateLeft,
  loadSteps,
  possibleSteps,
  stepsOfLoad,
} from '../../../src/model/machine/steps.js';
import { failureKinds } from '../../../src/plugins/errors.js';

const image = { name: 'base', revision: '1' };
const machine = (part: Partial<MachineState> = {}): MachineState => ({
  name: 'm',
  uid: 'u',
  registration: { provider: 'p', flavor: 'f', image: 'i', fields: {}, system: null },
  state: 'available',
  payload: {},
  history: [],
  operations: 1,
  measured: {},
  account: {
    type: 't',
    site: 's',
    flavor: 'f',
    image: 'i',
    can: ['LOAD', 'CAPTURE', 'IMAGE_EXISTS', 'POWER_ON'],
  },
  ...part,
});

describe('states of machines', () => {
  it('a load without changes returns to the earlier state, and only a load leaves reloading', () => {
    for (const before of ['available', 'reserved', 'in use', 'failed', 'timeout', 'maintenance'] as const) {
      expect(nextState(before, 'begin load')).toBe('reloading');
      expect(nextState('reloading', 'load left out', before)).toBe(before);
    }
    const ways = machineEvents.filter((event) => nextState('reloading', event) !== undefined);
    expect(ways).toEqual(['load done', 'load left out', 'load failed']);
  });

  it('a capture that changed nothing restores the earlier state', () => {
    const before = machineStates.filter((state) => nextState(state, 'begin capture') !== undefined);
    expect(before).toEqual(['available', 'reserved', 'in use', 'maintenance']);
    for (const state of before) expect(nextState('maintenance', 'capture left out', state)).toBe(state);
  });

  it.each<readonly [MachineStateName, MachineEvent]>([
    ['in use', 'reserve'],
    ['in use', 'release'],
    ['reserved', 'reserve'],
    ['failed', 'reserve'],
    ['failed', 'restore'],
    ['maintenance', 'reserve'],
    ['reloading', 'maintain'],
    ['failed', 'begin capture'],
    ['available', 'restore'],
    ['timeout', 'log in'],
  ])('from %s: no %s', (state, event) => {
    expect(nextState(state, event)).toBeUndefined();
  });

  it('only a machine that was loaded completely, or released unchanged, becomes available', () => {
    const ways = machineStates.flatMap((state) =>
      machineEvents
        .filter((event) => nextState(state, event) === 'available')
        .map((event) => `${state}: ${event}`),
    );
    expect(ways).toEqual([
      'reserved: release',
      'reloading: load done',
      'maintenance: restore',
      'timeout: release',
    ]);
  });
});

describe('requests that a machine refuses', () => {
  it.each<readonly [what: string, Partial<MachineState>, MachineIntent, RegExp]>([
    [
      'a second operation',
      {
        operation: {
          id: '2',
          intent: { kind: 'status' },
          by: 'ada',
          state: 'running',
          startedAt: '',
          notes: [],
        },
      },
      { kind: 'status' },
      /is busy: status by ada/,
    ],
    ['a load in maintenance', { state: 'maintenance' }, { kind: 'load', image }, /--force/],
    [
      'forcing steps that write nothing',
      {},
      { kind: 'load', image, force: true, only: 'post-load' },
      /do not write the image, so they cannot be forced/,
    ],
    [
      'restoring half an image',
      { state: 'maintenance', half: image },
      { kind: 'restore' },
      /image base@1 was only partly loaded/,
    ],
    ['removing a machine in use', { state: 'in use', user: 'ada' }, { kind: 'remove' }, /in use \(ada\)/],
    [
      'reserving what is in use',
      { state: 'in use', user: 'ada' },
      { kind: 'reserve', user: 'bob' },
      /machine m is in use \(ada\): reserve for bob is not possible; possible commands of heddle machine: load, capture, maintain$/,
    ],
    [
      'what its provider cannot do',
      {},
      { kind: 'power', verb: 'off' },
      /does not support POWER_OFF; supported: LOAD/,
    ],
    [
      'cleaning what is off',
      { keepsOff: true, account: { type: 't', site: 's', flavor: 'f', image: 'i', can: ['SANITIZE'] } },
      { kind: 'unload' },
      /m is switched off, but unload needs its operating system; run 'heddle machine power m on'/,
    ],
    ['retrying a registration that succeeded', {}, { kind: 'retry' }, /m has no failed registration/],
    [
      'retrying a registration after a load',
      { state: 'failed', half: image },
      { kind: 'retry' },
      /nothing to retry/,
    ],
    [
      'capturing what is off',
      {
        keepsOff: true,
        account: {
          type: 't',
          site: 's',
          flavor: 'f',
          image: 'i',
          can: ['CAPTURE', 'IMAGE_EXISTS', 'PRE_CAPTURE'],
        },
      },
      { kind: 'capture', image, prove: true },
      /is switched off/,
    ],
    [
      'opening what is off',
      { keepsOff: true, state: 'reserved' },
      { kind: 'log in', user: 'ada' },
      /is switched off/,
    ],
    [
      'a capture that could write over an image',
      { account: { type: 't', site: 's', flavor: 'f', image: 'i', can: ['CAPTURE'] } },
      { kind: 'capture', image, prove: true },
      /does not support IMAGE_EXISTS/,
    ],
  ])('%s', (_, part, intent, words) => {
    expect(refusalOf(machine(part), intent)).toMatch(words);
  });

  it.each<readonly [Partial<MachineState>, MachineIntent]>([
    [{}, { kind: 'load', image }],
    [{ state: 'failed' }, { kind: 'load', image, only: 'post-load' }],
    [{ state: 'maintenance' }, { kind: 'load', image, force: true }],
    [{ state: 'failed' }, { kind: 'load', image }],
    [{ state: 'failed', unconfirmed: true }, { kind: 'retry' }],
    [{ state: 'in use' }, { kind: 'capture', image, prove: true }],
    [{ state: 'in use' }, { kind: 'remove', force: true }],
    [{}, { kind: 'power', verb: 'on' }],
    [{ keepsOff: true }, { kind: 'load', image }],
    [{ keepsOff: true }, { kind: 'capture', image, prove: true }],
    [
      { keepsOff: true, account: { type: 't', site: 's', flavor: 'f', image: 'i', can: ['UNLOAD'] } },
      { kind: 'unload' },
    ],
  ])('but it takes %j %j', (part, intent) => {
    expect(refusalOf(machine(part), intent)).toBeUndefined();
  });
});

describe('answers', () => {
  it('a failure is "not done" only if that is certain', () => {
    expect(Object.fromEntries(failureKinds.map((kind) => [kind, answerOfFailure(kind)]))).toEqual({
      Retryable: 'unknown',
      NotReady: 'unknown',
      UnknownOutcome: 'unknown',
      Capacity: 'not done',
      Quota: 'not done',
      Auth: 'not done',
      Invalid: 'not done',
      MachineFailed: 'not done',
      ImageUnusable: 'not done',
      ScriptFailed: 'not done',
    });
    expect(['Timeout', 'Internal'].map(answerOfFailure)).toEqual(['unknown', 'unknown']);
  });

  it.each([
    ['web', 'web@1'],
    ['web@3', 'web@3'],
    ['Web-2.x@a_b', 'Web-2.x@a_b'],
  ])('%s is an image', (text, whole) => {
    const parsed = parseImageRef(text);
    expect(parsed === undefined ? undefined : formatImageRef(parsed)).toBe(whole);
  });

  it.each(['', '@1', 'web@', 'a/b', '../x', 'web@1@2', 'a b', '-x', '.x', 'x'.repeat(64)])(
    '%j is none',
    (text) => {
      expect(parseImageRef(text)).toBeUndefined();
    },
  );
});

describe('tables of steps', () => {
  it('between the first byte written and the proof there are only steps that lead to the proof', () => {
    const names = loadSteps.map(({ step }) => step);
    expect(names.slice(names.indexOf('write'))).toEqual([
      'write',
      'power on',
      'wait',
      'check disk',
      'check access',
      'erase',
      'post-load',
      'record',
    ]);
    expect(loadSteps.filter(({ breaks }) => breaks === true).map(({ step }) => step)).toEqual(['write']);
    expect(loadSteps.at(-1)).toMatchObject({ step: 'record', mends: true });
  });

  it('a capture always reserves its target first', () => {
    expect(captureSteps[0]).toMatchObject({ step: 'check target', action: 'IMAGE_EXISTS' });
    expect(possibleSteps(captureSteps, () => false).map(({ step }) => step)).toEqual([
      'check target',
      'wait for a permit',
      'capture',
      'size',
    ]);
  });

  it('only the steps after loading are executed if the image is loaded', () => {
    expect(stepsOfLoad('post-load').map(({ step }) => step)).toEqual(['post-load', 'record']);
  });

  it('the estimate prefers measured times to usual ones, and shrinks with the progress of the step', () => {
    const steps = stepsOfLoad('post-load');
    expect(estimateLeft(steps, 'post-load', 0, {})).toBe(12_000);
    expect(estimateLeft(steps, 'post-load', 4_000, { 'post-load': 6_000, record: 1_000 })).toBe(3_000);
    expect(estimateLeft(steps, 'post-load', 60_000, { 'post-load': 6_000, record: 1_000 })).toBe(1_000);
    expect(estimateLeft(steps, 'record', 0, {})).toBe(2_000);
  });
});

describe('a request that every machine refuses', () => {
  it.each<readonly [MachineIntent, RegExp]>([
    [{ kind: 'reserve', user: '' }, /its user must be a name/],
    [{ kind: 'log in', user: ' ' }, /its user/],
    [{ kind: 'reserve', user: 'a\nb' }, /without control characters/],
    [{ kind: 'reserve', user: 'x'.repeat(101) }, /1 to 100 characters/],
    [{ kind: 'load', image: { name: '../etc', revision: '1' } }, /"\.\.\/etc@1" is not a valid image/],
    [{ kind: 'capture', image: { name: 'web', revision: '' }, prove: true }, /"web@" is not a valid image/],
    [{ kind: 'status', image: { name: '', revision: '1' } }, /is not a valid image/],
  ])('%j', (intent, words) => {
    expect(faultOf(intent)).toMatch(words);
  });

  it.each<MachineIntent>([
    { kind: 'reserve', user: 'Ada Lovelace' },
    { kind: 'load', image },
    { kind: 'status' },
    { kind: 'power', verb: 'off' },
    { kind: 'remove' },
  ])('%j is none', (intent) => {
    expect(faultOf(intent)).toBeUndefined();
  });
});
