import type { Descriptor } from '../schema/descriptor.js';
import type {
  Automator,
  AutomatorParts,
  CanFind,
  CanGrantAccess,
  CanHear,
  CanList,
  CanQuota,
  MachineAbilities,
  PluginContext,
  Provider,
  SystemPart,
} from './contract.js';
import type { AttemptContext } from './program/invoke.js';
import type { Reservation } from './program/pool.js';

export type ProviderContext = PluginContext & AttemptContext;

export type AutomatorContext = PluginContext & AttemptContext & AutomatorParts;

export type ProviderWithAbilities = Provider &
  Partial<CanList & CanFind & CanHear & CanQuota & MachineAbilities>;

export type AutomatorWithAbilities = Automator & Partial<SystemPart & CanGrantAccess>;

export interface RegisteredPlugin<Context, Instance> {
  readonly descriptor: Descriptor;
  /** SHA-256 of the plugin's folder: another digest is another plugin, whatever its version says. */
  readonly digest: string;
  readonly folder: string;
  /** The optional methods that it has, such as list and find. */
  readonly abilities: readonly string[];
  /** Makes the object for one attempt of one task. */
  readonly create: (context: Context) => Instance;
  /**
   * Of a plugin that runs as a program: waits until a call can begin at once. What it gives goes into the
   * context, so that waiting takes nothing of the call's time, and is released at the end.
   */
  readonly reserve?: (signal: AbortSignal) => Promise<Reservation>;
}

/** What loading a plugin gives. */
export interface Loaded<Context, Instance> extends Pick<
  RegisteredPlugin<Context, Instance>,
  'abilities' | 'create' | 'reserve'
> {
  readonly close: () => Promise<void>;
}

export type RegisteredProvider = RegisteredPlugin<ProviderContext, ProviderWithAbilities>;

export type RegisteredAutomator = RegisteredPlugin<AutomatorContext, AutomatorWithAbilities>;
