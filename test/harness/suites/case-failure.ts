import { runSuite } from '../../../src/testing/run-suite.js';
import type { Suite } from '../../../src/testing/runner.js';

/**
 * Runs cases of a suite, one after the other.
 * @returns why one fails, or cannot be run; undefined if they pass.
 */
export async function caseFailure(
  suite: Suite,
  ids: string | readonly string[],
): Promise<string | undefined> {
  const only = [ids].flat();
  try {
    const outcomes = await runSuite(suite, { only });
    const missing = only.filter((id) => !outcomes.some((outcome) => outcome.id === id));
    if (missing.length > 0) throw new Error(`the suite has no case ${missing.join(', ')}`);
    return outcomes.find(({ outcome }) => outcome !== 'passed')?.why;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
