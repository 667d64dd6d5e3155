import { deepStrictEqual, notStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { tagNames } from '../model/names.js';
import type { CurrentReading, Knowledge, Machine } from '../plugins/contract.js';
import { readCurrentImage, readKnowledge } from '../schema/machine-answer.js';
import { lacksProxy } from './api-faults.js';
import {
  answerOf,
  bringPower,
  callPower,
  expectPower,
  misled,
  orUnknown,
  powerOf,
  silentFields,
  untilDone,
} from './machine-answers.js';
import { isMarked, mark } from './machine-mark.js';
import type { CallOptions, ProviderBench, Subject } from './provider-bench.js';
import { machineVerbs, type MachineVerb } from './provider-options.js';
import type { Case } from './runner.js';

export type PowerCaseId =
  | 'machines'
  | 'power'
  | 'power-state'
  | 'power-silent'
  | 'power-absent'
  | 'power-other-key'
  | 'power-lost'
  | 'unload'
  | 'unload-content'
  | 'unload-other-key'
  | 'reach'
  | 'reach-silent'
  | 'reach-absent';

/** Calls of one verb that are tested, from the first. */
export const lookedAtCalls = 6;

/** Always runs, so that no ability of a provider goes untested by accident. */
export const machinesAreTried: Case<PowerCaseId, ProviderBench> = {
  id: 'machines',
  title: 'has all its methods for existing machines tested',
  run: (bench) => {
    const has = Object.entries(machineVerbs).flatMap(([verb, method]) => (bench.has(method) ? [verb] : []));
    deepStrictEqual(
      [...(bench.opened.options.machines ?? [])].toSorted(),
      has.toSorted(),
      'the options of its suite need machines: every one of power, load, capture, retrieve, unload, reach that it has',
    );
    return Promise.resolve();
  },
};

/** What a provider does that switches machines, releases what they hold, or reaches them itself. */
export function powerCases(verbs: readonly MachineVerb[]): readonly Case<PowerCaseId, ProviderBench>[] {
  return [
    ...(verbs.includes('power') ? power : []),
    ...(verbs.includes('unload') ? unload : []),
    ...(verbs.includes('reach') ? reachable : []),
  ];
}

/** By find and by list, which may lag. */
async function expectShown(
  bench: ProviderBench,
  { key }: Subject,
  expected: Machine['state'],
): Promise<void> {
  await pause(bench.consistencyWindowMs);
  const [found] = bench.has('find') ? await bench.find(key) : [];
  const [listed] = bench.has('list') ? await bench.list({ [tagNames.key]: key }) : [];
  for (const [method, machine] of Object.entries({ find: found, list: listed }))
    if (bench.has(method))
      strictEqual(machine?.state, expected, `the machine is ${expected}, and ${method} shows another state`);
}

const power: readonly Case<PowerCaseId, ProviderBench>[] = [
  {
    id: 'power',
    title: 'switches off and on, also twice, reports the power state, and resets to on',
    run: (bench) =>
      bench.withReady(async (subject) => {
        await expectPower(bench, subject, 'on');
        for (const [verb, expected] of [
          ['powerOn', 'on'],
          ['powerOff', 'off'],
          ['powerOff', 'off'],
          ['powerOn', 'on'],
        ] as const) {
          await untilDone(bench, verb, () => callPower(bench, subject, verb));
          await expectPower(bench, subject, expected);
        }
        if (!bench.has('powerReset')) return;
        await bringPower(bench, subject, 'powerReset');
        await expectPower(bench, subject, 'on');
        await bringPower(bench, subject, 'powerOff');
        await bringPower(bench, subject, 'powerReset');
        await expectPower(bench, subject, 'on');
      }),
  },
  {
    id: 'power-state',
    title: 'shows a machine that is off as stopped, and as running once it is on again',
    run: (bench) =>
      bench.withReady(async (subject) => {
        await bringPower(bench, subject, 'powerOff');
        await expectShown(bench, subject, 'stopped');
        await bringPower(bench, subject, 'powerOn');
        await bench.untilReady(subject);
        await expectShown(bench, subject, 'running');
      }),
  },
  {
    id: 'power-silent',
    title: 'reports unknown when nothing answers: neither on nor off, neither done nor not done',
    run: (bench) =>
      bench.withReady(async (subject) => {
        const silent = silentFields(bench);
        strictEqual((await powerOf(bench, subject, silent)).power, 'unknown', 'the power without a response');
        for (const verb of ['powerOff', 'powerOn'] as const)
          strictEqual(
            await answerOf(() => callPower(bench, subject, verb, silent)),
            'unknown',
            `${verb} without a response`,
          );
        await expectPower(bench, subject, 'on');
      }),
  },
  {
    id: 'power-absent',
    title: 'reports an absent machine as neither on nor off, and switches nothing',
    run: async (bench) => {
      const absent = bench.subject();
      strictEqual((await powerOf(bench, absent)).power, 'unknown', 'the power of an absent machine');
      for (const verb of ['powerOn', 'powerOff'] as const)
        notStrictEqual(
          await answerOf(() => callPower(bench, absent, verb)),
          'done',
          `${verb} of an absent machine`,
        );
    },
  },
  {
    id: 'power-other-key',
    title: "neither reads nor switches the power of another key's machine, even with its id",
    run: (bench) =>
      bench.withReady(async (victim) => {
        const other = misled(bench, victim);
        strictEqual((await powerOf(bench, other)).power, 'unknown', "the power of another key's machine");
        for (const verb of ['powerOff', 'powerReset'] as const) {
          if (bench.has(verb))
            strictEqual(
              await answerOf(() => callPower(bench, other, verb)),
              'not done',
              `${verb} of another key's machine`,
            );
        }
        await expectPower(bench, victim, 'on');
      }),
  },
  {
    id: 'power-lost',
    title: 'reports nothing untrue, whichever API response is lost, and is done when called again',
    lacks: lacksProxy,
    run: (bench) =>
      bench.withReady(async (subject) => {
        for (const [verb, expected, back] of [
          ['powerOff', 'off', 'powerOn'],
          ['powerOn', 'on', 'powerOff'],
        ] as const) {
          for (let number = 1; number <= lookedAtCalls; number += 1) {
            await untilDone(bench, back, () => callPower(bench, subject, back));
            bench.proxy?.set((call) => (call.number === number ? { kind: 'lose' } : undefined));
            const answer = await answerOf(() => callPower(bench, subject, verb));
            const calls = bench.proxy?.calls() ?? 0;
            bench.proxy?.clear();
            notStrictEqual(answer, 'not done', `${verb} whose response was lost`);
            if (answer === 'done') await expectPower(bench, subject, expected);
            await untilDone(bench, verb, () => callPower(bench, subject, verb));
            await expectPower(bench, subject, expected);
            if (calls < number) break;
          }
        }
      }),
  },
];

const unload: readonly Case<PowerCaseId, ProviderBench>[] = [
  {
    id: 'unload',
    title: 'releases what a machine holds, also twice, and leaves its power as it was',
    run: (bench) =>
      bench.withReady(async (subject) => {
        const powers = bench.has('powerStatus') ? (['on', 'off'] as const) : ([undefined] as const);
        for (const power of powers) {
          if (power === 'off') await bringPower(bench, subject, 'powerOff');
          for (const _ of [1, 2]) {
            await untilDone(bench, 'unload', () => callUnload(bench, subject));
            if (power !== undefined) await expectPower(bench, subject, power);
          }
        }
      }),
  },
  {
    id: 'unload-content',
    title: 'leaves nothing on a machine that its user wrote',
    run: (bench) =>
      bench.withReady(async (subject) => {
        await mark(bench, subject);
        await untilDone(bench, 'unload', () => callUnload(bench, subject));
        strictEqual(await isMarked(bench, subject), false, 'a file of its user is still on the machine');
      }),
  },
  {
    id: 'unload-other-key',
    title: "releases nothing of another key's machine, even with its id",
    run: (bench) =>
      bench.withReady(async (victim) => {
        strictEqual(
          await answerOf(() => callUnload(bench, misled(bench, victim))),
          'not done',
          "unload of another key's machine",
        );
      }),
  },
];

/** What a provider reports of resources that are not reached over SSH. */
const reachable: readonly Case<PowerCaseId, ProviderBench>[] = [
  {
    id: 'reach',
    title: 'reports that a resource accepts commands, and which image it has, the same twice',
    run: (bench) =>
      bench.withReady(async (subject) => {
        strictEqual((await reach(bench, subject)).is, 'yes');
        const current = await currentImage(bench, subject);
        notStrictEqual(current.is, 'unknown', 'the image of a resource that answers');
        deepStrictEqual(await currentImage(bench, subject), current, 'a second call returns another image');
      }),
  },
  {
    id: 'reach-silent',
    title: 'reports unknown when nothing answers: for commands, and for the image',
    run: (bench) =>
      bench.withReady(async (subject) => {
        const silent = silentFields(bench);
        strictEqual((await reach(bench, subject, silent)).is, 'unknown');
        strictEqual((await currentImage(bench, subject, silent)).is, 'unknown');
      }),
  },
  {
    id: 'reach-absent',
    title: 'reports for an absent resource neither that it accepts commands nor an image',
    run: async (bench) => {
      const absent = bench.subject();
      ok((await reach(bench, absent)).is !== 'yes', 'an absent resource accepts commands');
      ok((await currentImage(bench, absent)).is !== 'yes', 'an absent resource has an image');
    },
  },
];

function callUnload(bench: ProviderBench, subject: Subject): Promise<unknown> {
  return bench.act<unknown>(subject, (provider, machine) => provider.unload?.(machine));
}

function reach(bench: ProviderBench, subject: Subject, options?: CallOptions): Promise<Knowledge> {
  return orUnknown(async () =>
    readKnowledge(
      await bench.act<unknown>(subject, (provider, machine) => provider.reach?.(machine), options),
      { plugin: 'suite', method: 'reach' },
    ),
  );
}

function currentImage(
  bench: ProviderBench,
  subject: Subject,
  options?: CallOptions,
): Promise<CurrentReading> {
  return orUnknown(async () =>
    readCurrentImage(
      await bench.act<unknown>(subject, (provider, machine) => provider.currentImage?.(machine), options),
      { plugin: 'suite', method: 'currentImage' },
    ),
  );
}
