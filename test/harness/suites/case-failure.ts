import type { Runner } from '../../../src/testing/runner.js';

/**
 * Runs cases of a suite, one after the other.
 * @returns why one fails; undefined if they pass.
 */
export async function caseFailure(
  define: (runner: Runner) => void,
  ids: string | readonly string[],
): Promise<string | undefined> {
  type Run = Parameters<Runner['test']>[2];
  const cases = new Map<string, Run>();
  const closers: (() => Promise<void>)[] = [];
  const test = (title: string, _options: object, run: Run): void => {
    cases.set(title.split(':', 1).join(), run);
  };
  define({
    describe: (_title, defineCases) => defineCases(),
    test: Object.assign(test, { skip: () => undefined }),
    afterAll: (close) => closers.push(close),
  });
  const skip = (why?: string): never => {
    throw new Error(`the case does not apply: ${why}`);
  };
  try {
    for (const id of [ids].flat()) {
      const run = cases.get(id);
      if (run === undefined) throw new Error(`the suite has no case ${id}`);
      await run({ skip });
    }
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    for (const close of closers) await close();
  }
}
