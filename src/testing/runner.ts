/** The part of a test runner that the suites need: Vitest, or Node's own with `afterAll: after`. */
export interface Runner {
  readonly describe: (title: string, define: () => void) => unknown;
  readonly test: Test & { readonly skip: Test };
  readonly afterAll: (close: () => Promise<void>) => unknown;
}

type Test = (
  title: string,
  options: { readonly timeout: number },
  run: (context: { readonly skip: (why: string) => unknown }) => Promise<void>,
) => unknown;

/** One thing that a plugin must do. */
export interface Case<Id extends string, Bench> {
  readonly id: Id;
  /** What it does, as a test's title says it. */
  readonly title: string;
  /** What the plugin lacks for the case, which its suite must then leave out with a reason. */
  readonly lacks?: (bench: Bench) => string | undefined;
  /** Why there is nothing to test, for methods that a plugin may omit: the case is shown as skipped. */
  readonly inapplicable?: (bench: Bench) => string | undefined;
  readonly run: (bench: Bench) => Promise<void>;
}

export interface DefineOptions<Id extends string, Bench> {
  readonly title: string;
  readonly cases: readonly Case<Id, Bench>[];
  /** Cases that are left out, and why, in words. */
  readonly without: Readonly<Partial<Record<Id, string>>>;
  /** Made before the first case, and shared by all. */
  readonly open: () => Promise<{ readonly bench: Bench; readonly close: () => Promise<void> }>;
  readonly timeoutMs: number;
}

/** Makes a test of each case. One that is left out is shown as such, with its reason. */
export function defineCases<Id extends string, Bench>(
  { describe, test, afterAll }: Runner,
  options: DefineOptions<Id, Bench>,
): void {
  const { title, cases, without, open, timeoutMs } = options;
  const known = cases.map(({ id }) => id);
  for (const [id, reason] of Object.entries(without)) {
    if (!known.some((one) => one === id))
      throw new Error(
        `without: case ${JSON.stringify(id)} does not exist; the cases are ${known.join(', ')}`,
      );
    if (typeof reason !== 'string' || reason.trim().split(/\s+/).length < 3)
      throw new Error(`without.${id}: say in words why it is left out`);
  }
  let opened: ReturnType<typeof open> | undefined;
  const limits = { timeout: timeoutMs };
  describe(title, () => {
    afterAll(async () => {
      await (await opened?.catch(() => undefined))?.close();
    });
    for (const { id, title: what, lacks, inapplicable, run } of cases) {
      const reason = without[id];
      if (reason !== undefined) {
        test.skip(`${id}: ${what} (left out: ${reason})`, limits, () => Promise.resolve());
        continue;
      }
      test(`${id}: ${what}`, limits, async (context) => {
        opened ??= open();
        const { bench } = await opened;
        const missing = lacks?.(bench);
        if (missing !== undefined)
          throw new Error(
            `${missing}. If it cannot be otherwise, leave the case out with a reason: without: { ${JSON.stringify(id)}: '…' }`,
          );
        const why = inapplicable?.(bench);
        if (why !== undefined) {
          context.skip(why);
          return;
        }
        await run(bench);
      });
    }
  });
}
