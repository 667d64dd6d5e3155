import { setTimeout as pause } from 'node:timers/promises';
import type { Suite, SuiteCase } from './runner.js';

export interface CaseOutcome {
  readonly id: string;
  readonly title: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Why it failed or was skipped, without secrets of the account. */
  readonly why?: string;
  readonly ms: number;
}

export interface RunOptions {
  /** Only these cases; all by default. */
  readonly only?: readonly string[] | undefined;
  /** Called at the end of each case. */
  readonly onEnd?: (outcome: CaseOutcome) => void;
  /** Once it is aborted, no further case begins: the one that runs deletes its machines first. */
  readonly signal?: AbortSignal;
}

/**
 * Runs a suite without a test runner, one case after the other, and closes it. After a case that did not end
 * no other one runs: both would use the account or node at the same time.
 * @throws if the plugin cannot be loaded, or the account cannot be opened
 */
export async function runSuite(
  suite: Suite,
  { only, onEnd, signal }: RunOptions = {},
): Promise<readonly CaseOutcome[]> {
  const outcomes: CaseOutcome[] = [];
  let hanging: string | undefined;
  try {
    await suite.open();
    for (const one of suite.cases) {
      if (only?.includes(one.id) === false) continue;
      if (signal?.aborted === true) break;
      const { isOver, ...outcome } =
        hanging === undefined || one.leftOut !== undefined
          ? await runCase(suite, one)
          : { ...skipped(one, `not run: case ${hanging} did not end`), isOver: true };
      if (!isOver) hanging = one.id;
      outcomes.push(outcome);
      onEnd?.(outcome);
    }
  } finally {
    await suite.close();
  }
  return outcomes;
}

/** `isOver`: nothing of the case runs any more. */
async function runCase(suite: Suite, one: SuiteCase): Promise<CaseOutcome & { readonly isOver: boolean }> {
  const { id, title, leftOut, run } = one;
  if (leftOut !== undefined) return { ...skipped(one, `left out: ${leftOut}`), isOver: true };
  const begin = Date.now();
  const ended = (outcome: CaseOutcome['outcome'], why?: string) => ({
    id,
    title,
    outcome,
    ...(why === undefined ? {} : { why: suite.redact(why) }),
    ms: Date.now() - begin,
    isOver: true,
  });
  const over = new AbortController();
  const late = pause(suite.timeoutMs, 'late' as const, { signal: over.signal });
  late.catch(() => undefined);
  try {
    const why = await Promise.race([run().then((inapplicable) => ({ inapplicable })), late]);
    if (why === 'late')
      return { ...ended('failed', `it did not end within ${suite.timeoutMs / 1_000} s`), isOver: false };
    return why.inapplicable === undefined ? ended('passed') : ended('skipped', why.inapplicable);
  } catch (error) {
    return ended('failed', error instanceof Error ? error.message : String(error));
  } finally {
    over.abort();
  }
}

function skipped({ id, title }: SuiteCase, why: string): CaseOutcome {
  return { id, title, outcome: 'skipped', why, ms: 0 };
}
