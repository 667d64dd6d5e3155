import { openAutomatorBench, type AutomatorBench, type AutomatorBenchOptions } from './automator-bench.js';
import { accessCases, type AccessCaseId } from './automator-access-cases.js';
import { automatorCases, type AutomatorCaseId } from './automator-cases.js';
import { defineCases, type Runner } from './runner.js';

export type { AutomatorCaseId } from './automator-cases.js';
export type { SuiteNode } from './cuttable-node.js';

export interface AutomatorSuiteOptions extends AutomatorBenchOptions {
  /** Cases that are left out, each with its reason in words. */
  readonly without?: Readonly<Partial<Record<AutomatorCaseId | AccessCaseId, string>>>;
}

/** What every automator must do, as tests on a node with real SSH: see docs/plugin-contract.md. */
export function automatorSuite(runner: Runner, options: AutomatorSuiteOptions): void {
  defineCases<AutomatorCaseId | AccessCaseId, AutomatorBench>(runner, {
    title: `automator ${options.name}`,
    cases: [...automatorCases, ...(options.accounts === true ? accessCases : [])],
    without: options.without ?? {},
    open: () => openAutomatorBench(options),
    timeoutMs: (options.patienceMs ?? 120_000) * 5,
  });
}
