import { rm } from 'node:fs/promises';
import type { Descriptor } from '../schema/descriptor.js';
import { errorAt, ProblemsError, type Problem } from '../schema/problem.js';
import { suggest } from '../schema/suggest.js';
import { clientPlan, Clients } from './clients.js';
import type { PluginContext, PluginLog } from './contract.js';
import { copyPlugin } from './copy-plugin.js';
import { PluginError } from './errors.js';
import { builtInRoot } from './plugin-names.js';
import { findPlugins, type FoundPlugin } from './find-plugins.js';
import { abilitiesOf, loadClass } from './load-class.js';
import { loadAutomatorProgram, loadProviderProgram, type ProgramOptions } from './program/load-program.js';
import { Sandbox } from './program/sandbox.js';
import type { Loaded, RegisteredAutomator, RegisteredPlugin, RegisteredProvider } from './registered.js';

export type {
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
  /** The plugins' digests, to compare them with those of another worker or of a later start. */
  versions(): readonly PluginVersion[];
  /** Ends the programs of plugins. */
  close(): Promise<void>;
}

/** Plain data, for a workflow's state. */
interface PluginVersion {
  readonly type: Descriptor['type'];
  readonly name: string;
  readonly version: string;
  readonly digest: string;
  /** Whether it is part of Heddle. */
  readonly builtIn: boolean;
}

export interface LoadOptions {
  /** Folders with `providers/` and `automators/`, in addition to the built-in one. */
  readonly folders: readonly string[];
  readonly log: Pick<PluginLog, 'info'>;
  /**
   * A temporary folder, which `close` removes. Plugins that are not built in are copied into it and run from
   * there, so that later changes in their own folders have no effect. Without it they run from their own
   * folders.
   */
  readonly copyTo?: string;
  /** Whether to load the built-in plugins. Default: true. */
  readonly builtIn?: boolean;
  /** For plugins that run as programs. Default: no variables of the worker, and the default limits. */
  readonly programs?: ProgramOptions;
}

/**
 * Finds, checks and registers all plugins, and logs each.
 * @throws ProblemsError if a plugin is broken, duplicate or unsafe, naming every file and fault.
 */
export async function loadRegistry({
  folders,
  log,
  copyTo,
  builtIn = true,
  programs = { environment: {}, limits: {} },
}: LoadOptions): Promise<Registry> {
  const { found, problems } = findPlugins([...(builtIn ? [builtInRoot] : []), ...folders], builtInRoot);
  const faults: Problem[] = [...problems, ...findDuplicates(found)];
  const options: ProgramOptions = { ...programs, say: (text) => log.info(text) };
  const sandbox = new Sandbox((text) => log.info(text));
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(closers.map((end) => end()));
    await sandbox.close();
    if (copyTo !== undefined) await rm(copyTo, { recursive: true, force: true });
  };
  const register = async <Context extends PluginContext, Instance>(
    type: Descriptor['type'],
    loadProgram: (
      plugin: FoundPlugin,
      sandbox: Sandbox,
      options: ProgramOptions,
    ) => Promise<Loaded<Context, Instance>>,
  ): Promise<readonly RegisteredPlugin<Context, Instance>[]> => {
    const registered: RegisteredPlugin<Context, Instance>[] = [];
    for (const plugin of found.filter(({ descriptor }) => descriptor.type === type)) {
      const { descriptor, digest, folder, root, place } = plugin;
      let running = plugin;
      try {
        const isBuiltIn = root === builtInRoot;
        if (!isBuiltIn && copyTo !== undefined) running = copyPlugin(plugin, copyTo);
        const {
          close: closePlugin,
          rules,
          ...loaded
        } = await (isBuiltIn && descriptor.command === undefined
          ? loadInProcess<Context, Instance>(plugin, log)
          : loadProgram(running, sandbox, options));
        closers.push(closePlugin);
        faults.push(...checkAbilities(descriptor, loaded.abilities).map((fault) => ({ ...fault, place })));
        registered.push({ descriptor: { ...descriptor, rules }, digest, folder, ...loaded });
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        // The file to correct is the plugin's own, not its copy.
        const wrong = message.replaceAll(running.folder, folder);
        faults.push({ ...errorAt([], `${type} ${descriptor.name}: ${wrong}`), place });
      }
    }
    return registered.toSorted((one, other) => (one.descriptor.name < other.descriptor.name ? -1 : 1));
  };
  const providers = await register('provider', loadProviderProgram);
  const automators = await register('automator', loadAutomatorProgram);
  if (faults.length > 0) {
    await close();
    throw new ProblemsError('These plugins cannot be used:', faults);
  }
  for (const { descriptor, digest, folder } of [...providers, ...automators]) {
    const { type, name, version } = descriptor;
    log.info(`plugin ${type} ${name} ${version} registered`, { digest, folder });
  }
  return createRegistry(providers, automators, close);
}

function findDuplicates(found: readonly FoundPlugin[]): readonly Problem[] {
  return found.flatMap(({ descriptor: { type, name }, place }, index) => {
    const first = found
      .slice(0, index)
      .find(({ descriptor }) => descriptor.type === type && descriptor.name === name);
    if (first === undefined) return [];
    const wrong = `${type} ${name} already exists, in ${first.place.file}`;
    return [{ ...errorAt([], wrong, 'Rename or remove one of them.'), place }];
  });
}

/** Built-in classes run in the worker's process. */
async function loadInProcess<Context extends PluginContext, Instance>(
  found: FoundPlugin,
  log: LoadOptions['log'],
): Promise<Loaded<Context, Instance>> {
  const { descriptor, entry } = found;
  const { Class, methods } = await loadClass<Context, Instance>(entry, descriptor.class ?? '');
  const clients = new Clients(clientPlan(descriptor), Class, (text) => log.info(text));
  return {
    abilities: abilitiesOf(found, methods),
    isProgram: false,
    create: (context) => new Class({ ...context, client: clients.openerOf(context) }),
    rules: Class.checkFields?.bind(Class),
    close: () => clients.close(),
  };
}

function checkAbilities(
  { type, name, idempotency }: Descriptor,
  abilities: readonly string[],
): readonly Problem[] {
  if (type !== 'provider') return [];
  const lacksFind = (idempotency === 'name' || idempotency === 'tag') && !abilities.includes('find');
  const lacksImage = abilities.includes('reach') && !abilities.includes('currentImage');
  const wrong = `is ${idempotency}: it requires find(key), which the plugin does not have`;
  return [
    ...(lacksFind ? [errorAt(['idempotency'], wrong, 'Add the method, or set it to token or none.')] : []),
    ...(lacksImage
      ? [errorAt([], `provider ${name} has reach but not currentImage`, 'Add the method.')]
      : []),
  ];
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
    `${type} plugin "${name}" is not installed on this worker. ${suggest(name, known) ?? 'None is registered.'}`,
  );
}
