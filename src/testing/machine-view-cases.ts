import { deepStrictEqual, notStrictEqual, ok, strictEqual } from 'node:assert/strict';
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
        `list shows ${listed.length} of ${subjects.length} machines: it must read every page, and the descriptor must say how late lists are`,
      );
    } finally {
      for (const subject of subjects) await bench.remove(subject);
    }
  },
};

/**
 * From CREATE to the end of DELETE, find and CONFIRM agree with each other, and with what the
 * account itself shows if the test can look there. A machine that runs at once shows nothing:
 * every plugin is right about it that always says so.
 */
export const statesCase: Case<'states', ProviderBench> = {
  id: 'states',
  title: 'shows the state that a machine has, and confirms it only while it is running',
  lacks: (bench) => (bench.has('find') ? undefined : 'it has no method find'),
  inapplicable: (bench) =>
    bench.consistencyWindowMs > 0 ? 'what it shows may be outdated, so it cannot be compared' : undefined,
  run: async (bench) => {
    const { stallNext, stateOf } = bench.opened.account;
    if (stallNext !== undefined) await checkStalled(bench, stallNext);
    let wasEarly = stallNext !== undefined || stateOf === undefined;
    await bench.with(async (subject) => {
      await bench.create(subject);
      await bench.until('the machine to be confirmed', async () => {
        const { isConfirmed, real } = await check(bench, subject);
        wasEarly ||= real !== undefined && real !== 'running';
        return isConfirmed;
      });
      ok(
        wasEarly,
        'the machine ran at once, so that no state before was compared: let `open` give stallNext, or a cloud whose machines take time to boot',
      );
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
    });
  },
};

/** Looks at a machine that starts and never runs; some plugins report it correctly at first. */
async function checkStalled(bench: ProviderBench, stallNext: () => Promise<void>): Promise<void> {
  await stallNext();
  await bench.with(async (subject) => {
    await bench.create(subject);
    for (let checks = 0; checks < 3; checks += 1) {
      const { isConfirmed, found } = await check(bench, subject);
      notStrictEqual(found, 'running', 'find shows a machine as running that never boots');
      ok(!isConfirmed, 'CONFIRM succeeds for a machine that never boots');
    }
  });
}

interface Check {
  readonly isConfirmed: boolean;
  readonly found: State;
  /** What the account showed before and after; undefined if that is unknown or differs. */
  readonly real: Observation['real'];
}

/** Compares what is shown before and after CONFIRM, if both are equal. */
async function check(bench: ProviderBench, subject: Subject): Promise<Check> {
  const before = await observe(bench, subject);
  const isConfirmed = await bench.confirm(subject).then(
    () => true,
    (error: unknown) => {
      if (isPluginError(error)) return false;
      throw error;
    },
  );
  const after = await observe(bench, subject);
  if (before.found === after.found && isConfirmed)
    strictEqual(before.found, 'running', 'CONFIRM succeeds for a machine that find does not show as running');
  const real = before.real === after.real ? before.real : undefined;
  if (real !== undefined) {
    strictEqual(before.found, real, 'find does not show the state that the machine has');
    if (isConfirmed) strictEqual(real, 'running', 'CONFIRM succeeds before the machine is running');
  }
  await pause(20);
  return { isConfirmed, found: after.found, real };
}

type State = Machine['state'] | 'absent';

interface Observation {
  readonly found: State;
  /** What the account shows; undefined if the test cannot look there, or if it changed meanwhile. */
  readonly real: State | undefined;
}

async function observe(bench: ProviderBench, { key, config }: Subject): Promise<Observation> {
  const { stateOf } = bench.opened.account;
  const id = config['providerid'];
  const ask = async (): Promise<Observation['real']> =>
    typeof id === 'string' ? stateOf?.(id).then((state) => state ?? 'absent') : undefined;
  const real = await ask();
  const [machine] = await bench.find(key);
  const found = machine?.state ?? 'absent';
  return { found, real: (await ask()) === real ? real : undefined };
}
