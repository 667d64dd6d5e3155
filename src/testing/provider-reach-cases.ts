import { deepStrictEqual, notStrictEqual, ok, strictEqual } from 'node:assert/strict';
import type { CurrentReading, Knowledge } from '../plugins/contract.js';
import { isPluginError } from '../plugins/errors.js';
import { readCurrentImage, readKnowledge } from '../schema/machine-answer.js';
import type { CallOptions, ProviderBench, Subject } from './provider-bench.js';
import { silentFields, type MachineVerb } from './provider-power-cases.js';
import type { Case } from './runner.js';

export type ReachCaseId = 'reach' | 'reach-silent' | 'reach-absent';

/** What a provider tells of resources that nobody logs in to. */
export function reachCases(verbs: readonly MachineVerb[]): readonly Case<ReachCaseId, ProviderBench>[] {
  return verbs.includes('reach') ? cases : [];
}

const cases: readonly Case<ReachCaseId, ProviderBench>[] = [
  {
    id: 'reach',
    title: 'says of a resource that it takes orders, and which image it has, the same twice',
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.up(subject);
        strictEqual((await reach(bench, subject)).is, 'yes');
        const current = await currentImage(bench, subject);
        notStrictEqual(current.is, 'unknown', 'which image a resource has that answers');
        deepStrictEqual(
          await currentImage(bench, subject),
          current,
          'it says something else when it is asked again',
        );
      }),
  },
  {
    id: 'reach-silent',
    title: 'knows nothing where nobody answers: neither that it takes orders, nor that it has no image',
    run: (bench) =>
      bench.with(async (subject) => {
        await bench.up(subject);
        const options = { fields: silentFields(bench) };
        strictEqual((await reach(bench, subject, options)).is, 'unknown');
        strictEqual((await currentImage(bench, subject, options)).is, 'unknown');
      }),
  },
  {
    id: 'reach-absent',
    title: "says of a resource that is nobody's neither that it takes orders nor which image it has",
    run: async (bench) => {
      const nobody = bench.subject();
      ok((await reach(bench, nobody)).is !== 'yes', 'it takes orders');
      ok((await currentImage(bench, nobody)).is !== 'yes', 'it has an image');
    },
  },
];

async function reach(bench: ProviderBench, subject: Subject, options: CallOptions = {}): Promise<Knowledge> {
  return unlessFailed(async () =>
    readKnowledge(
      await bench.act<unknown>(subject, (provider, machine) => provider.reach?.(machine), options),
      { plugin: 'suite', method: 'reach' },
    ),
  );
}

async function currentImage(
  bench: ProviderBench,
  subject: Subject,
  options: CallOptions = {},
): Promise<CurrentReading> {
  return unlessFailed(async () =>
    readCurrentImage(
      await bench.act<unknown>(subject, (provider, machine) => provider.currentImage?.(machine), options),
      { plugin: 'suite', method: 'currentImage' },
    ),
  );
}

async function unlessFailed<Reading>(
  ask: () => Promise<Reading>,
): Promise<Reading | { readonly is: 'unknown'; readonly why: string }> {
  try {
    return await ask();
  } catch (error) {
    if (!isPluginError(error)) throw error;
    return { is: 'unknown', why: error.message };
  }
}
