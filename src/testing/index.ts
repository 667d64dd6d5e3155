export {
  automatorSuite,
  type AutomatorCaseId,
  type AutomatorSuiteOptions,
  type SuiteNode,
} from './automator-suite.js';
export { providerSuite, type ProviderCaseId, type ProviderSuiteOptions } from './provider-suite.js';
export type { SuiteAccount } from './provider-options.js';
export {
  startFakeCloud,
  startFlakyApi,
  type FakeCloud,
  type FakeCloudOptions,
  type FlakyApi,
  type Flakiness,
} from './fake-cloud.js';
export { startMachineService, type MachineService } from './machine-service.js';
export type { Runner } from './runner.js';
