import { openProviderBench } from './provider-account.js';
import { lifecycleCases, type LifecycleCaseId } from './provider-life-cases.js';
import { faultCases, type FaultCaseId } from './provider-fault-cases.js';
import { imageCases, type ImageCaseId } from './provider-image-cases.js';
import { powerCases, machinesAreTried, type PowerCaseId } from './provider-power-cases.js';
import { uploadCases, uploadsAreTried, type UploadCaseId } from './provider-upload-cases.js';
import type { ProviderBenchOptions } from './provider-options.js';
import { createSuite, defineSuite, type Runner, type Suite } from './runner.js';
import { noSurroundings, type Surroundings } from './surroundings.js';

export type ProviderCaseId = LifecycleCaseId | FaultCaseId | UploadCaseId | PowerCaseId | ImageCaseId;

export interface ProviderSuiteOptions extends ProviderBenchOptions {
  /** Cases that are left out, each with its reason in words. */
  readonly without?: Readonly<Partial<Record<ProviderCaseId, string>>>;
}

/** What every provider must do, as tests: see docs/reference/plugins/contract.md. */
export function providerSuite(runner: Runner, options: ProviderSuiteOptions): void {
  defineSuite(runner, createProviderSuite(options));
}

/** The same for a program that runs the cases itself. */
export function createProviderSuite(
  options: ProviderSuiteOptions,
  surroundings: Surroundings = noSurroundings,
): Suite {
  return createSuite({
    title: `provider ${options.name}`,
    cases: [
      ...lifecycleCases,
      ...faultCases,
      uploadsAreTried,
      ...(options.uploads === true ? uploadCases : []),
      machinesAreTried,
      ...powerCases(options.machines ?? []),
      ...imageCases(options.machines ?? []),
    ],
    without: options.without ?? {},
    open: () => openProviderBench(options, surroundings),
    timeoutMs: (options.patienceMs ?? 120_000) * 5,
  });
}
