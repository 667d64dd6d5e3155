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

export interface SuiteOptions<Id extends string, Bench> {
  readonly title: string;
  readonly cases: readonly Case<Id, Bench>[];
  /** Cases that are left out, and why, in words. */
  readonly without: Readonly<Partial<Record<Id, string>>>;
  /** Made before the first case, and shared by all. */
  readonly open: () => Promise<{
    readonly bench: Bench;
    /** Removes the secrets of the account from a text. */
    readonly redact: (text: string) => string;
    readonly close: () => Promise<void>;
  }>;
  readonly timeoutMs: number;
}

/** The cases for one plugin, which any runner can run. */
export interface Suite {
  readonly title: string;
  readonly cases: readonly SuiteCase[];
  readonly timeoutMs: number;
  /** Opens what the cases share, unless it is open. @throws if the plugin cannot be loaded */
  readonly open: () => Promise<void>;
  /** Removes the secrets of the account, once it is open. */
  readonly redact: (text: string) => string;
  readonly close: () => Promise<void>;
}

export interface SuiteCase {
  readonly id: string;
  readonly title: string;
  /** Why it is left out. */
  readonly leftOut: string | undefined;
  /** Returns why there is nothing to test, if so. @throws if the plugin does not pass */
  readonly run: () => Promise<string | undefined>;
}

/** @throws Error for a case that does not exist, and for one that is left out without a reason in words. */
export function createSuite<Id extends string, Bench>({
  title,
  cases,
  without,
  open,
  timeoutMs,
}: SuiteOptions<Id, Bench>): Suite {
  const known = cases.map(({ id }) => id);
  for (const [id, reason] of Object.entries(without)) {
    if (!known.some((one) => one === id))
      throw new Error(
        `without: case ${JSON.stringify(id)} does not exist; the cases are ${known.join(', ')}`,
      );
    if (typeof reason !== 'string' || reason.trim().split(/\s+/).length < 3)
      throw new Error(`without.${id}: say in words why it is left out`);
  }
  let opening: ReturnType<typeof open> | undefined;
  const opened = (): ReturnType<typeof open> => (opening ??= open());
  let redact = (text: string): string => text;
  return {
    title,
    timeoutMs,
    cases: cases.map(({ id, title: what, lacks, inapplicable, run }) => ({
      id,
      title: what,
      leftOut: without[id],
      run: async () => {
        const { bench } = await opened();
        const missing = lacks?.(bench);
        if (missing !== undefined)
          throw new Error(
            `${missing}. If it cannot be otherwise, leave the case out with a reason: without: { ${JSON.stringify(id)}: '…' }`,
          );
        const why = inapplicable?.(bench);
        if (why === undefined) await run(bench);
        return why;
      },
    })),
    open: async () => {
      ({ redact } = await opened());
    },
    redact: (text) => redact(text),
    close: async () => {
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}

/** Makes a test of each case. One that is left out is shown as such, with its reason. */
export function defineSuite({ describe, test, afterAll }: Runner, suite: Suite): void {
  const limits = { timeout: suite.timeoutMs };
  describe(suite.title, () => {
    afterAll(suite.close);
    for (const { id, title, leftOut, run } of suite.cases) {
      if (leftOut !== undefined) {
        test.skip(`${id}: ${title} (left out: ${leftOut})`, limits, () => Promise.resolve());
        continue;
      }
      test(`${id}: ${title}`, limits, async (context) => {
        const why = await run();
        if (why !== undefined) context.skip(why);
      });
    }
  });
}
