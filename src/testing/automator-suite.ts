import type { JsonObject } from '../model/json.js';
import { openAutomatorBench, type AutomatorBench } from './automator-bench.js';
import { accessCases, type AccessCaseId } from './automator-access-cases.js';
import { automatorCases, type AutomatorCaseId } from './automator-cases.js';
import type { SuiteNode } from './cuttable-node.js';
import { defineCases, type Runner } from './runner.js';

export type { AutomatorCaseId } from './automator-cases.js';
export type { SuiteNode } from './cuttable-node.js';

export interface AutomatorSuiteOptions {
  /** The automator's name in its descriptor. */
  readonly name: string;
  /** Plugin folders, as under `plugins` in heddle.yaml; none for a built-in plugin. */
  readonly folders?: readonly string[];
  /** The fields of an action that has the node run this shell text, with the data on its standard input. */
  readonly script: (text: string, data: string) => JsonObject;
  /** A node of your own, such as a container with your tool; by default a machine of the machine service. */
  readonly open?: () => Promise<SuiteNode>;
  /** The administrator's fields, where it has any: as under `automators` in heddle.yaml. */
  readonly admin?: JsonObject;
  /** It creates accounts on its machines. The node that `open` returns must be a whole system then. */
  readonly accounts?: boolean;
  /** Cases that are left out, each with its reason in words. */
  readonly without?: Readonly<Partial<Record<AutomatorCaseId | AccessCaseId, string>>>;
  /** Longest wait for something to happen on the node, in ms; two minutes unless given. */
  readonly patienceMs?: number;
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
