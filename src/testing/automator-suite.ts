import { openAutomatorBench, type AutomatorBench, type AutomatorBenchOptions } from './automator-bench.js';
import { accessCases, type AccessCaseId } from './automator-access-cases.js';
import { systemCases, type SystemCaseId } from './automator-system-cases.js';
import { automatorCases, type AutomatorCaseId } from './automator-cases.js';
import { defineCases, type Runner } from './runner.js';

export type { AutomatorCaseId } from './automator-cases.js';
export type { SuiteNode } from './cuttable-node.js';

export interface AutomatorSuiteOptions extends AutomatorBenchOptions {
  /** Cases that are left out, each with its reason in words. */
  readonly without?: Readonly<Partial<Record<AutomatorCaseId | AccessCaseId | SystemCaseId, string>>>;
}

/** What every automator must do, as tests on a node with real SSH: see docs/plugin-contract.md. */
export function automatorSuite(runner: Runner, options: AutomatorSuiteOptions): void {
  defineCases<AutomatorCaseId | AccessCaseId | SystemCaseId, AutomatorBench>(runner, {
    title: `automator ${options.name}`,
    cases: [
      ...automatorCases,
      ...(options.accounts === true ? accessCases : []),
      ...(options.system === true ? systemCases : []),
    ],
    without: options.without ?? {},
    open: () => openAutomatorBench(options),
    timeoutMs: (options.patienceMs ?? 120_000) * 5,
  });
}
