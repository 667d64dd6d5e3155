import type { Runner } from '../../../src/testing/runner.js';

/**
 * Runs one case of a suite.
 * @returns why it fails; undefined if it passes.
 */
export async function caseFailure(define: (runner: Runner) => void, id: string): Promise<string | undefined> {
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
  const run = cases.get(id);
  if (run === undefined) throw new Error(`the suite has no case ${id}`);
  try {
    await run({
      skip: (why) => {
        throw new Error(`the case does not apply: ${why}`);
      },
    });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    for (const close of closers) await close();
  }
}
