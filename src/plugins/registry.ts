import { fileURLToPath } from 'node:url';
import type { Descriptor } from '../schema/descriptor.js';
import { errorAt, ProblemsError, type Problem } from '../schema/problem.js';
import { suggest } from '../schema/suggest.js';
import type { Automator, CanFind, CanList, PluginContext, PluginLog, Provider, Shell } from './contract.js';
import { PluginError } from './errors.js';
import { findPlugins, type FoundPlugin } from './find-plugins.js';
import { loadAutomatorClass, loadProviderClass, type ClassReading } from './load-class.js';

export type AutomatorContext = PluginContext & { readonly shell: Shell };
export type ProviderWithAbilities = Provider & Partial<CanList & CanFind>;

export interface RegisteredPlugin<Context, Instance> {
  readonly descriptor: Descriptor;
  /** SHA-256 of the plugin's folder: another digest is another plugin, whatever its version says. */
  readonly digest: string;
  readonly folder: string;
  /** The optional methods that it has, such as list and find. */
  readonly abilities: readonly string[];
  /** Makes the object for one attempt of one task. */
  readonly create: (context: Context) => Instance;
}

export type RegisteredProvider = RegisteredPlugin<PluginContext, ProviderWithAbilities>;
export type RegisteredAutomator = RegisteredPlugin<AutomatorContext, Automator>;

export interface Registry {
  /** @throws PluginError Invalid naming the types that are known. */
  provider(type: string): RegisteredProvider;
  /** @throws PluginError Invalid naming the types that are known. */
  automator(type: string): RegisteredAutomator;
  /** In the order of their names. */
  providers(): readonly RegisteredProvider[];
  /** In the order of their names; BOOTSTRAP runs them so. */
  automators(): readonly RegisteredAutomator[];
}

export interface LoadOptions {
  /** Folders that hold `providers/` and `automators/`; the built-in one comes first without being named. */
  readonly folders: readonly string[];
  readonly log: Pick<PluginLog, 'info'>;
  /** Whether the plugins that come with Heddle are loaded; they are unless this is false. */
  readonly builtIn?: boolean;
}

/**
 * Finds, verifies and registers all plugins, with one log line each.
 * @throws ProblemsError when any is broken, doubled or unsafe: it names every file and fault, and nothing is registered.
 */
export async function loadRegistry({ folders, log, builtIn = true }: LoadOptions): Promise<Registry> {
  const { found, problems } = findPlugins([...(builtIn ? [builtInRoot] : []), ...folders]);
  const faults: Problem[] = [...problems, ...findDuplicates(found)];
  const providers = await registerAll(found.filter(({ descriptor }) => descriptor.type === 'provider'), loadProviderClass, faults);
  const automators = await registerAll(found.filter(({ descriptor }) => descriptor.type === 'automator'), loadAutomatorClass, faults);
  if (faults.length > 0) throw new ProblemsError('These plugins cannot be used:', faults);
  for (const { descriptor: { type, name, version }, digest, folder } of [...providers, ...automators]) {
    log.info(`plugin ${type} ${name} ${version} registered`, { digest, folder });
  }
  return createRegistry(providers, automators);
}

/** The folder of this module: `src/plugins` from source, `dist/plugins` when built. */
const builtInRoot = fileURLToPath(new URL('.', import.meta.url));

function findDuplicates(found: readonly FoundPlugin[]): readonly Problem[] {
  return found.flatMap(({ descriptor: { type, name }, place }, index) => {
    const first = found.slice(0, index).find(({ descriptor }) => descriptor.type === type && descriptor.name === name);
    return first === undefined ? [] : [{ ...errorAt([], `${type} ${name} is there already, in ${first.place.file}`, 'Rename or remove one of them.'), place }];
  });
}

/** One after the other, so that what modules do while they load stays in order. */
async function registerAll<Context, Instance>(
  found: readonly FoundPlugin[], load: (plugin: FoundPlugin) => Promise<ClassReading<Context, Instance>>, faults: Problem[],
): Promise<readonly RegisteredPlugin<Context, Instance>[]> {
  const registered: RegisteredPlugin<Context, Instance>[] = [];
  for (const plugin of found) {
    const { descriptor, digest, folder, place } = plugin;
    const loaded = await load(plugin);
    if (!loaded.ok) {
      faults.push({ ...errorAt([], `${descriptor.type} ${descriptor.name}: ${loaded.wrong}`), place });
      continue;
    }
    const { Class, abilities } = loaded;
    registered.push({ descriptor, digest, folder, abilities, create: (context) => new Class(context) });
  }
  return registered.toSorted((one, other) => (one.descriptor.name < other.descriptor.name ? -1 : 1));
}

function createRegistry(providers: readonly RegisteredProvider[], automators: readonly RegisteredAutomator[]): Registry {
  return {
    provider: (type) => named(providers, 'provider', type),
    automator: (type) => named(automators, 'automator', type),
    providers: () => providers,
    automators: () => automators,
  };
}

function named<Plugin extends { readonly descriptor: Descriptor }>(plugins: readonly Plugin[], type: string, name: string): Plugin {
  const plugin = plugins.find(({ descriptor }) => descriptor.name === name);
  if (plugin !== undefined) return plugin;
  const known = plugins.map(({ descriptor }) => descriptor.name);
  throw new PluginError('Invalid', `there is no ${type} plugin "${name}" on this worker. ${suggest(name, known) ?? 'None is registered.'}`);
}
