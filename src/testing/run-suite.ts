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
 * Runs a suite without a test runner, one case after the other, and closes it.
 * @throws if the plugin cannot be loaded, or the account cannot be opened
 */
export async function runSuite(
  suite: Suite,
  { only, onEnd, signal }: RunOptions = {},
): Promise<readonly CaseOutcome[]> {
  const outcomes: CaseOutcome[] = [];
  try {
    await suite.open();
    for (const one of suite.cases) {
      if (only?.includes(one.id) === false) continue;
      if (signal?.aborted === true) break;
      const outcome = await runCase(suite, one);
      outcomes.push(outcome);
      onEnd?.(outcome);
    }
  } finally {
    await suite.close();
  }
  return outcomes;
}

async function runCase(suite: Suite, { id, title, leftOut, run }: SuiteCase): Promise<CaseOutcome> {
  if (leftOut !== undefined) return { id, title, outcome: 'skipped', why: `left out: ${leftOut}`, ms: 0 };
  const begin = Date.now();
  const ended = (outcome: CaseOutcome['outcome'], why?: string): CaseOutcome => ({
    id,
    title,
    outcome,
    ...(why === undefined ? {} : { why: suite.redact(why) }),
    ms: Date.now() - begin,
  });
  const over = new AbortController();
  const late = pause(suite.timeoutMs, undefined, { signal: over.signal }).then(() => {
    throw new Error(`it did not end within ${suite.timeoutMs / 1_000} s`);
  });
  late.catch(() => undefined);
  try {
    const why = await Promise.race([run(), late]);
    return why === undefined ? ended('passed') : ended('skipped', why);
  } catch (error) {
    return ended('failed', error instanceof Error ? error.message : String(error));
  } finally {
    over.abort();
  }
}
