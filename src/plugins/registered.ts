import type { Descriptor } from '../schema/descriptor.js';
import type {
  Automator,
  AutomatorAbilities,
  AutomatorParts,
  PluginContext,
  Provider,
  ProviderAbilities,
} from './contract.js';
import type { AttemptContext } from './program/invoke.js';
import type { Reservation } from './program/pool.js';

export type ProviderContext = PluginContext & AttemptContext;

export type AutomatorContext = PluginContext & AttemptContext & AutomatorParts;

export type ProviderWithAbilities = Provider & Partial<ProviderAbilities>;

export type AutomatorWithAbilities = Automator & Partial<AutomatorAbilities>;

export interface RegisteredPlugin<Context, Instance> {
  readonly descriptor: Descriptor;
  /** SHA-256 of the plugin's folder, which identifies the plugin; the version does not. */
  readonly digest: string;
  readonly folder: string;
  /** Its optional methods, such as list and find. */
  readonly abilities: readonly string[];
  /**
   * Whether it is a program in any language, such as a class of Loom, rather than a class that gets a
   * context.
   */
  readonly isProgram: boolean;
  /** Creates the object for one attempt of one task. */
  readonly create: (context: Context) => Instance;
  /**
   * For a plugin that runs as a program: waits for a free process, so that waiting does not count towards the
   * call's time limit. The reservation is passed in the context and must be released.
   */
  readonly reserve?: (signal: AbortSignal) => Promise<Reservation>;
}

/** A loaded plugin. */
export interface Loaded<Context, Instance> extends Pick<
  RegisteredPlugin<Context, Instance>,
  'abilities' | 'isProgram' | 'create' | 'reserve'
> {
  readonly close: () => Promise<void>;
  readonly rules?: Descriptor['rules'];
}

export type RegisteredProvider = RegisteredPlugin<ProviderContext, ProviderWithAbilities>;

export type RegisteredAutomator = RegisteredPlugin<AutomatorContext, AutomatorWithAbilities>;
