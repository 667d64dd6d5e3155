import type { JsonObject } from '../model/json.js';
import { openProviderBench } from './provider-account.js';
import { lifeCases, type LifeCaseId } from './provider-life-cases.js';
import { faultCases, type FaultCaseId } from './provider-fault-cases.js';
import { imageCases, type ImageCaseId } from './provider-image-cases.js';
import { powerCases, machinesAreTried, type MachineVerb, type PowerCaseId } from './provider-power-cases.js';
import { uploadCases, uploadsAreTried, type UploadCaseId } from './provider-upload-cases.js';
import { defineCases, type Runner } from './runner.js';

export type ProviderCaseId = LifeCaseId | FaultCaseId | UploadCaseId | PowerCaseId | ImageCaseId;

/** An account that the suite may make machines of. */
export interface SuiteAccount {
  /** The administrator's field with the URL of the provider's HTTP API, where the suite injects faults. */
  readonly admin: JsonObject;
  /** The user's fields, as a cluster file has them. */
  readonly user?: JsonObject;
  /** As the provider names them. */
  readonly flavor: string;
  readonly image: string;
  /** For a provider that takes images as files: a small one, and its format. */
  readonly upload?: { readonly file: string; readonly format: string };
  /** For a provider without `endpoint`: administrator's fields of an API that does not answer. */
  readonly silent?: JsonObject;
  /** For a provider with `reach`: puts a mark on a resource that only an image removes, and looks for it. */
  readonly marks?: {
    readonly put: (providerid: string) => Promise<void>;
    readonly has: (providerid: string) => Promise<boolean>;
  };
  readonly close?: () => Promise<void>;
}

export interface ProviderSuiteOptions {
  /** The provider's name in its descriptor. */
  readonly name: string;
  /** Plugin folders, as under `plugins` in heddle.yaml; none for a built-in plugin. */
  readonly folders?: readonly string[];
  readonly open: () => Promise<SuiteAccount>;
  /**
   * The administrator's field with the address of the provider's HTTP API: the suite has its calls go wrong
   * on the way.
   */
  readonly endpoint?: string;
  /** It takes images as files, and what `open` gives names one: the cases about uploads are run, too. */
  readonly uploads?: true;
  /** What it does with machines that are there: the cases about these are run, too. */
  readonly machines?: readonly MachineVerb[];
  /** Cases that are left out, each with its reason in words. */
  readonly without?: Readonly<Partial<Record<ProviderCaseId, string>>>;
  /** Longest wait for a machine to be ready or gone, in ms; two minutes unless given. */
  readonly patienceMs?: number;
}

/** What every provider must do, as tests: see docs/plugin-contract.md. */
export function providerSuite(runner: Runner, options: ProviderSuiteOptions): void {
  defineCases(runner, {
    title: `provider ${options.name}`,
    cases: [
      ...lifeCases,
      ...faultCases,
      uploadsAreTried,
      ...(options.uploads === true ? uploadCases : []),
      machinesAreTried,
      ...powerCases(options.machines ?? []),
      ...imageCases(options.machines ?? []),
    ],
    without: options.without ?? {},
    open: () => openProviderBench(options),
    timeoutMs: (options.patienceMs ?? 120_000) * 5,
  });
}
