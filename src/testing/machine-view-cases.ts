import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { tagNames } from '../model/names.js';
import type { Machine } from '../plugins/contract.js';
import { isPluginError } from '../plugins/errors.js';
import type { ProviderBench, Subject } from './provider-bench.js';
import type { Case } from './runner.js';

/** A list of more machines than one answer of the API holds. */
export const listPagesCase: Case<'list-pages', ProviderBench> = {
  id: 'list-pages',
  title: 'lists all its machines when they are on several pages of the API',
  lacks: (bench) => {
    if (!bench.has('list')) return 'it has no method list';
    return bench.opened.account.pageSize === undefined
      ? 'open gives no pageSize: how many machines an answer of the API holds, which the test makes small'
      : undefined;
  },
  run: async (bench) => {
    const subjects = Array.from({ length: (bench.opened.account.pageSize ?? 0) + 1 }, () => bench.subject());
    try {
      for (const subject of subjects) await bench.create(subject);
      await bench.untilVisible();
      const listed = await bench.list({ [tagNames.installation]: bench.installation });
      deepStrictEqual(
        listed.map((machine) => machine.key ?? machine.tags[tagNames.key] ?? '').toSorted(),
        subjects.map(({ key }) => key).toSorted(),
        `list shows ${listed.length} of ${subjects.length} machines: it must read every page`,
      );
    } finally {
      for (const subject of subjects) await bench.remove(subject);
    }
  },
};

/**
 * From CREATE to the end of DELETE, find and CONFIRM agree with each other, and with what the account itself shows
 * if the test can look there.
 */
export const statesCase: Case<'states', ProviderBench> = {
  id: 'states',
  title: 'shows the state that a machine has, and confirms it only while it is running',
  lacks: (bench) => (bench.has('find') ? undefined : 'it has no method find'),
  inapplicable: (bench) =>
    bench.consistencyWindowMs > 0 ? 'what it shows may be outdated, so it cannot be compared' : undefined,
  run: (bench) =>
    bench.with(async (subject) => {
      await bench.create(subject);
      await bench.until('the machine to be confirmed', () => check(bench, subject));
      await bench.until('the machine to be gone', async () => {
        const isDeleted = await bench.delete(subject).then(
          () => true,
          (error: unknown) => {
            if (isPluginError(error) && error.kind === 'NotReady') return false;
            throw error;
          },
        );
        await check(bench, subject);
        return isDeleted;
      });
    }),
};

/** Compares what is shown before and after CONFIRM, if both are equal. @returns whether CONFIRM succeeded. */
async function check(bench: ProviderBench, subject: Subject): Promise<boolean> {
  const before = await look(bench, subject);
  const isConfirmed = await bench.confirm(subject).then(
    () => true,
    (error: unknown) => {
      if (isPluginError(error)) return false;
      throw error;
    },
  );
  const after = await look(bench, subject);
  if (before.found === after.found && isConfirmed)
    strictEqual(before.found, 'running', 'CONFIRM succeeds for a machine that find does not show as running');
  if (before.real !== undefined && before.real === after.real) {
    strictEqual(before.found, before.real, 'find does not show the state that the machine has');
    if (isConfirmed) strictEqual(before.real, 'running', 'CONFIRM succeeds before the machine is running');
  }
  await pause(20);
  return isConfirmed;
}

type State = Machine['state'] | 'absent';

interface Look {
  readonly found: State;
  /** What the account shows; undefined if the test cannot look there, or if it changed meanwhile. */
  readonly real: State | undefined;
}

async function look(bench: ProviderBench, { key, config }: Subject): Promise<Look> {
  const { stateOf } = bench.opened.account;
  const id = config['providerid'];
  const ask = async (): Promise<Look['real']> =>
    typeof id === 'string' ? stateOf?.(id).then((state) => state ?? 'absent') : undefined;
  const real = await ask();
  const [machine] = await bench.find(key);
  const found = machine?.state ?? 'absent';
  return { found, real: (await ask()) === real ? real : undefined };
}
