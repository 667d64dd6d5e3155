import { deepStrictEqual, notStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { Outcome, PowerReading } from '../plugins/contract.js';
import { isPluginError } from '../plugins/errors.js';
import { readOutcome, readPower } from '../schema/machine-answer.js';
import type { CallOptions, ProviderBench, Subject } from './provider-bench.js';
import { misled } from './provider-life-cases.js';
import type { Case } from './runner.js';
import { until } from './until.js';

/** What a provider may do with a machine that is there, as its suite's options name it. */
export const machineVerbs = {
  power: 'powerStatus',
  load: 'load',
  capture: 'capture',
  retrieve: 'retrieveImage',
  unload: 'unload',
  reach: 'reach',
} as const;
export type MachineVerb = keyof typeof machineVerbs;

export type PowerCaseId =
  | 'machines'
  | 'power'
  | 'power-silent'
  | 'power-absent'
  | 'power-other-key'
  | 'power-lost'
  | 'unload'
  | 'unload-other-key';

/** Calls of one verb that are looked at, the first of them first. */
export const lookedAtCalls = 6;

/** Kinds of failure after which nobody can tell whether anything was done. */
const unknownKinds: readonly string[] = ['Retryable', 'NotReady', 'UnknownOutcome'];

/** Nobody forgets them: what a provider can do is tried. */
export const machinesAreTried: Case<PowerCaseId, ProviderBench> = {
  id: 'machines',
  title: 'is tried with all that it does with machines that are there',
  run: ({ plugin, options }) => {
    const has = Object.entries(machineVerbs).flatMap(([verb, method]) =>
      plugin.abilities.includes(method) ? [verb] : [],
    );
    deepStrictEqual(
      [...(options.machines ?? [])].toSorted(),
      has.toSorted(),
      'the options of its suite need machines: all that it can do of power, load, capture, retrieve, unload, reach',
    );
    return Promise.resolve();
  },
};

/** What a provider does that switches machines, or takes back what they held. */
export function powerCases(verbs: readonly MachineVerb[]): readonly Case<PowerCaseId, ProviderBench>[] {
  return [...(verbs.includes('power') ? power : []), ...(verbs.includes('unload') ? unload : [])];
}

const power: readonly Case<PowerCaseId, ProviderBench>[] = [
  {
    id: 'power',
    title:
      'switches off and on, does nothing where nothing is to be done, and says what is so; a reset ends with the machine on',
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.up(subject);
        await reads(bench, subject, 'on');
        for (const [verb, then] of [
          ['powerOn', 'on'],
          ['powerOff', 'off'],
          ['powerOff', 'off'],
          ['powerOn', 'on'],
        ] as const) {
          await untilDone(verb, () => switchIt(bench, subject, verb), bench.patienceMs);
          await reads(bench, subject, then);
        }
        if (!bench.plugin.abilities.includes('powerReset')) return;
        await untilDone('powerReset', () => switchIt(bench, subject, 'powerReset'), bench.patienceMs);
        await reads(bench, subject, 'on');
        await switchOff(bench, subject);
        await untilDone('powerReset', () => switchIt(bench, subject, 'powerReset'), bench.patienceMs);
        await reads(bench, subject, 'on');
      }),
  },
  {
    id: 'power-silent',
    title: 'knows nothing where nobody answers: neither on nor off, neither done nor not done',
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.up(subject);
        const options = { fields: silentFields(bench) };
        strictEqual((await powerOf(bench, subject, options)).power, 'unknown');
        for (const verb of ['powerOff', 'powerOn'] as const)
          strictEqual(
            await answerOf(() => switchIt(bench, subject, verb, options)),
            'unknown',
            `${verb} that nobody answered`,
          );
        await reads(bench, subject, 'on');
      }),
  },
  {
    id: 'power-absent',
    title: 'calls a machine that is not there neither on nor off, and switches nothing',
    run: async (bench) => {
      const nobody = bench.subject();
      strictEqual((await powerOf(bench, nobody)).power, 'unknown');
      for (const verb of ['powerOn', 'powerOff'] as const)
        notStrictEqual(
          await answerOf(() => switchIt(bench, nobody, verb)),
          'done',
          `${verb} of a machine that is not there`,
        );
    },
  },
  {
    id: 'power-other-key',
    title: "neither reads nor switches the power of another key's machine, even when it is given its id",
    run: (bench) =>
      bench.with(async (victim) => {
        await bench.up(victim);
        const other = misled(bench, victim);
        strictEqual((await powerOf(bench, other)).power, 'unknown');
        for (const verb of ['powerOff', 'powerReset'] as const) {
          if (bench.plugin.abilities.includes(verb))
            strictEqual(await answerOf(() => switchIt(bench, other, verb)), 'not done', verb);
        }
        await reads(bench, victim, 'on');
      }),
  },
  {
    id: 'power-lost',
    title:
      'says nothing that is not so, whichever answer of its API is lost, and is done when it is asked again',
    lacks: ({ proxy }) =>
      proxy === undefined ? "options.endpoint names no field with the API's address" : undefined,
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.up(subject);
        for (const verb of ['powerOff', 'powerOn'] as const) {
          const [wanted, back] =
            verb === 'powerOff' ? (['off', 'powerOn'] as const) : (['on', 'powerOff'] as const);
          for (let number = 1; number <= lookedAtCalls; number += 1) {
            await untilDone(back, () => switchIt(bench, subject, back), bench.patienceMs);
            bench.proxy?.set((call) => (call.number === number ? { kind: 'lose' } : undefined));
            const answer = await answerOf(() => switchIt(bench, subject, verb));
            const calls = bench.proxy?.calls() ?? 0;
            bench.proxy?.clear();
            notStrictEqual(answer, 'not done', `${verb} whose answer was lost`);
            if (answer === 'done') await reads(bench, subject, wanted);
            await untilDone(verb, () => switchIt(bench, subject, verb), bench.patienceMs);
            await reads(bench, subject, wanted);
            if (calls < number) break;
          }
        }
      }),
  },
];

const unload: readonly Case<PowerCaseId, ProviderBench>[] = [
  {
    id: 'unload',
    title: 'takes back what a machine held, once and again',
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.up(subject);
        for (let time = 0; time < 2; time += 1)
          await untilDone(
            'unload',
            () => bench.act(subject, (provider, machine) => provider.unload?.(machine)),
            bench.patienceMs,
          );
      }),
  },
  {
    id: 'unload-other-key',
    title: "takes back nothing from another key's machine, even when it is given its id",
    run: (bench) =>
      bench.with(async (victim) => {
        await bench.up(victim);
        const other = misled(bench, victim);
        strictEqual(
          await answerOf(() => bench.act(other, (provider, machine) => provider.unload?.(machine))),
          'not done',
        );
      }),
  },
];

/** What came of a verb, as the engine reads it. @throws whatever is no PluginError */
export async function answerOf(call: () => Promise<unknown>): Promise<Outcome['answer']> {
  try {
    return readOutcome(await call(), { plugin: 'suite', method: 'verb' }).answer;
  } catch (error) {
    if (!isPluginError(error)) throw error;
    return unknownKinds.includes(error.kind) ? 'unknown' : 'not done';
  }
}

/** Asks again while nobody can tell, as the engine does. */
export async function untilDone(
  what: string,
  call: () => Promise<unknown>,
  patienceMs: number,
): Promise<void> {
  await until(
    `${what} to be done`,
    async () => {
      const answer = await answerOf(call);
      notStrictEqual(answer, 'not done', `${what} says that it was not done`);
      return answer === 'done';
    },
    patienceMs,
  );
}

/** Where it can be switched at all. */
export async function switchOff(bench: ProviderBench, subject: Subject): Promise<void> {
  if (bench.plugin.abilities.includes('powerOff'))
    await untilDone('powerOff', () => switchIt(bench, subject, 'powerOff'), bench.patienceMs);
}

export async function switchOn(bench: ProviderBench, subject: Subject): Promise<void> {
  if (bench.plugin.abilities.includes('powerOn'))
    await untilDone('powerOn', () => switchIt(bench, subject, 'powerOn'), bench.patienceMs);
}

/** With these, nobody answers. */
export function silentFields({
  fields,
  options: { endpoint },
  silent,
}: ProviderBench): ProviderBench['fields'] {
  const instead = silent ?? (endpoint === undefined ? undefined : { [endpoint]: 'http://127.0.0.1:1' });
  ok(
    instead !== undefined,
    'what options.open gives needs silent: fields with which nobody answers. If there is nobody to ask, leave the case out with a reason',
  );
  return { ...fields, ...instead };
}

function switchIt(
  bench: ProviderBench,
  subject: Subject,
  verb: 'powerOn' | 'powerOff' | 'powerReset',
  options: CallOptions = {},
): Promise<unknown> {
  return bench.act<unknown>(subject, (provider, machine) => provider[verb]?.(machine), options);
}

async function powerOf(
  bench: ProviderBench,
  subject: Subject,
  options: CallOptions = {},
): Promise<PowerReading> {
  try {
    return readPower(
      await bench.act(subject, (provider, machine) => provider.powerStatus?.(machine), options),
      { plugin: 'suite', method: 'powerStatus' },
    );
  } catch (error) {
    if (!isPluginError(error)) throw error;
    return { power: 'unknown', why: error.message };
  }
}

async function reads(bench: ProviderBench, subject: Subject, wanted: 'on' | 'off'): Promise<void> {
  const { power: is, why } = await powerOf(bench, subject);
  strictEqual(is, wanted, `it is ${wanted}, and is said to be ${is}${why === undefined ? '' : ` (${why})`}`);
}
