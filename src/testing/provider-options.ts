import type { JsonObject } from '../model/json.js';
import type { Machine } from '../plugins/contract.js';

/** What a provider may do with an existing machine, by its name in the suite's options. */
export const machineVerbs = {
  power: 'powerStatus',
  load: 'load',
  capture: 'capture',
  retrieve: 'retrieveImage',
  unload: 'unload',
  reach: 'reach',
} as const;
export type MachineVerb = keyof typeof machineVerbs;

/** An account that the suite may make machines of. */
export interface SuiteAccount {
  /** The administrator's field with the URL of the provider's HTTP API, where the suite injects faults. */
  readonly admin: JsonObject;
  /** The user's fields, as a cluster file has them. */
  readonly user?: JsonObject;
  /** As the provider names them. */
  readonly flavor: string;
  readonly image: string;
  /**
   * How many machines one answer of the API holds; the smaller, the faster is the test. Absent
   * if its lists have no pages.
   */
  readonly pageSize?: number;
  /** The state that the account itself shows of a machine; undefined once there is none. */
  readonly stateOf?: (providerid: string) => Promise<Machine['state'] | undefined>;
  /**
   * Has the next machine that is created start and never run, so that its state is compared
   * before it runs. Required with `stateOf` where machines run at once.
   */
  readonly stallNext?: () => Promise<void>;
  /** For a provider that takes images as files: a small one, and its format. */
  readonly upload?: { readonly file: string; readonly format: string };
  /** For a provider without `endpoint`: administrator's fields of an API that does not answer. */
  readonly silent?: JsonObject;
  /** For a provider with `reach`: puts a mark on a resource that only an image removes, and looks for it. */
  readonly marks?: {
    readonly put: (providerid: string) => Promise<void>;
    readonly has: (providerid: string) => Promise<boolean>;
  };
  /** For an API that fails by itself: keeps it from failing while the suite causes faults. */
  readonly calm?: (isCalm: boolean) => void;
  readonly close?: () => Promise<void>;
}

/** What the suite needs to know to call a provider. */
export interface ProviderBenchOptions {
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
  /** Timeout for a machine to be ready or gone, in ms. Default: two minutes. */
  readonly patienceMs?: number;
  /**
   * Delay until the account's API shows a change, in ms. Default: the descriptor's value. An emulator may
   * show changes immediately.
   */
  readonly consistencyWindowMs?: number;
}
