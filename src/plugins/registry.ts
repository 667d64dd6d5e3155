import type { RegisteredPlugin, Loaded, RegisteredProvider, RegisteredAutomator } from './registered.js';
import { fileURLToPath } from 'node:url';
import type { Descriptor } from '../schema/descriptor.js';
import { errorAt, ProblemsError, type Problem } from '../schema/problem.js';
import { suggest } from '../schema/suggest.js';
import { clientPlan, Clients } from './clients.js';
import type { PluginContext, PluginLog } from './contract.js';
import { PluginError } from './errors.js';
import { findPlugins, type FoundPlugin } from './find-plugins.js';
import { loadAutomatorClass, loadProviderClass, type ClassReading } from './load-class.js';
import type { ProgramOptions } from './program/load-program.js';
import { loadAutomatorProgram, loadProviderProgram } from './program/register-program.js';
import { Workshop } from './program/workshop.js';

export type {
  AutomatorContext,
  AutomatorWithAbilities,
  ProviderContext,
  ProviderWithAbilities,
  RegisteredAutomator,
  RegisteredPlugin,
  RegisteredProvider,
} from './registered.js';

export interface Registry {
  /** @throws PluginError Invalid naming the types that are known. */
  provider(type: string): RegisteredProvider;
  /** @throws PluginError Invalid naming the types that are known. */
  automator(type: string): RegisteredAutomator;
  /** In the order of their names. */
  providers(): readonly RegisteredProvider[];
  /** In the order of their names; BOOTSTRAP runs them so. */
  automators(): readonly RegisteredAutomator[];
  /** Which plugins these are, for whoever must know whether another worker, or a later one, has the same. */
  versions(): readonly PluginVersion[];
  /** Ends the programs of plugins. */
  close(): Promise<void>;
}

/** Plain data: may be kept in a workflow's state, and compared there. */
export interface PluginVersion {
  readonly type: Descriptor['type'];
  readonly name: string;
  readonly version: string;
  readonly digest: string;
  /** It comes with Heddle. */
  readonly builtIn: boolean;
}

export interface LoadOptions {
  /** Folders that hold `providers/` and `automators/`; the built-in one comes first without being named. */
  readonly folders: readonly string[];
  readonly log: Pick<PluginLog, 'info'>;
  /** Whether the plugins that come with Heddle are loaded; they are unless this is false. */
  readonly builtIn?: boolean;
  /**
   * For plugins that run as programs; unless given they get no variables of the worker, and the usual limits.
   */
  readonly programs?: ProgramOptions;
}

/**
 * Finds, verifies and registers all plugins, with one log line each.
 * @throws ProblemsError when any is broken, doubled or unsafe: it names every file and fault, and nothing is
 * registered.
 */
export async function loadRegistry({
  folders,
  log,
  builtIn = true,
  programs = { environment: {}, limits: {} },
}: LoadOptions): Promise<Registry> {
  const { found, problems } = findPlugins([...(builtIn ? [builtInRoot] : []), ...folders], builtInRoot);
  const faults: Problem[] = [...problems, ...findDuplicates(found)];
  const options: ProgramOptions = { ...programs, say: (text) => log.info(text) };
  const workshop = new Workshop();
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(closers.map((end) => end()));
    await workshop.close();
  };
  const ofType = (type: Descriptor['type']): readonly FoundPlugin[] =>
    found.filter(({ descriptor }) => descriptor.type === type);
  const isBuiltIn = ({ root }: FoundPlugin): boolean => root === builtInRoot;
  const providers = await registerAll(ofType('provider'), faults, closers, async (plugin) =>
    isBuiltIn(plugin)
      ? inProcess(plugin, await loadProviderClass(plugin), log)
      : loadProviderProgram(plugin, workshop, options),
  );
  const automators = await registerAll(ofType('automator'), faults, closers, async (plugin) =>
    isBuiltIn(plugin)
      ? inProcess(plugin, await loadAutomatorClass(plugin), log)
      : loadAutomatorProgram(plugin, workshop, options),
  );
  if (faults.length > 0) {
    await close();
    throw new ProblemsError('These plugins cannot be used:', faults);
  }
  for (const {
    descriptor: { type, name, version },
    digest,
    folder,
  } of [...providers, ...automators]) {
    log.info(`plugin ${type} ${name} ${version} registered`, { digest, folder });
  }
  return createRegistry(providers, automators, close);
}

/** The folder of this module: `src/plugins` from source, `dist/plugins` when built. */
const builtInRoot = fileURLToPath(new URL('.', import.meta.url));

function findDuplicates(found: readonly FoundPlugin[]): readonly Problem[] {
  return found.flatMap(({ descriptor: { type, name }, place }, index) => {
    const first = found
      .slice(0, index)
      .find(({ descriptor }) => descriptor.type === type && descriptor.name === name);
    return first === undefined
      ? []
      : [
          {
            ...errorAt(
              [],
              `${type} ${name} is there already, in ${first.place.file}`,
              'Rename or remove one of them.',
            ),
            place,
          },
        ];
  });
}

/** A plugin that comes with Heddle is trusted as Heddle is. */
function inProcess<Context extends PluginContext, Instance>(
  { descriptor }: FoundPlugin,
  reading: ClassReading<Context, Instance>,
  log: LoadOptions['log'],
): Loaded<Context, Instance> {
  if (!reading.ok) return reading;
  const { Class, abilities } = reading;
  const clients = new Clients(clientPlan(descriptor), Class, (text) => log.info(text));
  const create = (context: Context): Instance => {
    const client = clients.openerOf(context);
    return new Class(client === undefined ? context : { ...context, client });
  };
  return { ok: true, abilities, create, close: () => clients.close() };
}

async function registerAll<Context, Instance>(
  found: readonly FoundPlugin[],
  faults: Problem[],
  closers: (() => Promise<void>)[],
  load: (plugin: FoundPlugin) => Promise<Loaded<Context, Instance>>,
): Promise<readonly RegisteredPlugin<Context, Instance>[]> {
  const registered: RegisteredPlugin<Context, Instance>[] = [];
  for (const plugin of found) {
    const { descriptor, digest, folder, place } = plugin;
    const loaded = await load(plugin);
    if (!loaded.ok) {
      faults.push({ ...errorAt([], `${descriptor.type} ${descriptor.name}: ${loaded.wrong}`), place });
      continue;
    }
    const { abilities, create, reserve, close } = loaded;
    const lacking = lackingAbility(descriptor, abilities);
    if (lacking !== undefined)
      faults.push({ ...errorAt(['idempotency'], lacking, 'Add the method, or say token or none.'), place });
    if (descriptor.type === 'provider' && abilities.includes('reach') && !abilities.includes('currentImage'))
      faults.push({
        ...errorAt([], `provider ${descriptor.name} has reach and no currentImage`, 'Add the method.'),
        place,
      });
    if (close !== undefined) closers.push(close);
    registered.push({ descriptor, digest, folder, abilities, create, reserve });
  }
  return registered.toSorted((one, other) => (one.descriptor.name < other.descriptor.name ? -1 : 1));
}

/** Who looks before making a second machine must be able to look. */
function lackingAbility({ type, idempotency }: Descriptor, abilities: readonly string[]): string | undefined {
  if (type !== 'provider' || (idempotency !== 'name' && idempotency !== 'tag') || abilities.includes('find'))
    return undefined;
  return `is ${idempotency}: an earlier machine is looked for by find(key), which the plugin does not have`;
}

function createRegistry(
  providers: readonly RegisteredProvider[],
  automators: readonly RegisteredAutomator[],
  close: () => Promise<void>,
): Registry {
  return {
    provider: (type) => named(providers, 'provider', type),
    automator: (type) => named(automators, 'automator', type),
    providers: () => providers,
    automators: () => automators,
    versions: () =>
      [...providers, ...automators].map(({ descriptor: { type, name, version }, digest, folder }) => ({
        type,
        name,
        version,
        digest,
        builtIn: folder.startsWith(builtInRoot),
      })),
    close,
  };
}

function named<Plugin extends { readonly descriptor: Descriptor }>(
  plugins: readonly Plugin[],
  type: string,
  name: string,
): Plugin {
  const plugin = plugins.find(({ descriptor }) => descriptor.name === name);
  if (plugin !== undefined) return plugin;
  const known = plugins.map(({ descriptor }) => descriptor.name);
  throw new PluginError(
    'Invalid',
    `there is no ${type} plugin "${name}" on this worker. ${suggest(name, known) ?? 'None is registered.'}`,
  );
}
