import { openAutomatorBench, type AutomatorBench, type AutomatorBenchOptions } from './automator-bench.js';
import { accessCases, type AccessCaseId } from './automator-access-cases.js';
import { systemCases, type SystemCaseId } from './automator-system-cases.js';
import { automatorCases, type AutomatorCaseId } from './automator-cases.js';
import { createSuite, defineSuite, type Runner, type Suite } from './runner.js';
import { noSurroundings, type Surroundings } from './surroundings.js';

export type { AutomatorCaseId } from './automator-cases.js';
export type { SuiteNode } from './cuttable-node.js';

export interface AutomatorSuiteOptions extends AutomatorBenchOptions {
  /** Cases that are left out, each with its reason in words. */
  readonly without?: Readonly<Partial<Record<AutomatorCaseId | AccessCaseId | SystemCaseId, string>>>;
}

/** What every automator must do, as tests on a node with real SSH: see docs/reference/plugins/contract.md. */
export function automatorSuite(runner: Runner, options: AutomatorSuiteOptions): void {
  defineSuite(runner, createAutomatorSuite(options));
}

/** The same for a program that runs the cases itself. */
export function createAutomatorSuite(
  options: AutomatorSuiteOptions,
  surroundings: Surroundings = noSurroundings,
): Suite {
  return createSuite<AutomatorCaseId | AccessCaseId | SystemCaseId, AutomatorBench>({
    title: `automator ${options.name}`,
    cases: [
      ...automatorCases,
      ...(options.accounts === true ? accessCases : []),
      ...(options.system === true ? systemCases : []),
    ],
    without: options.without ?? {},
    open: () => openAutomatorBench(options, surroundings),
    timeoutMs: (options.patienceMs ?? 120_000) * 5,
  });
}
