import type { JsonObject } from '../../model/json.js';
import type { Config } from '../../config/index.js';
import { otherOwnerOf } from '../../config/own-files.js';
import { checkConfiguration } from '../../plugins/check-accounts.js';
import type { Registry } from '../../plugins/registry.js';
import { ProblemsError } from '../../schema/problem.js';
import { CliError } from '../errors.js';
import { inspectPlugins } from '../inspect-plugins.js';
import { describeFields, hideSecrets } from '../account/field-words.js';
import { chooseServer, readConfiguration, type ServerOptions } from '../configuration.js';
import { localVerb } from '../verb.js';

const serverOrigins = {
  flag: 'flag',
  configuration: 'TEMPORAL_* or temporal.toml',
  dev: 'heddle dev, which is running here',
  default: 'default',
} as const;

/** The settings and the source of each; secrets are left out. */
export const show = localVerb(
  async (options: ServerOptions) => {
    const config = readConfiguration(options);
    const { address, namespace, from, dev } = await chooseServer(config, options);
    const { dataFolder, cacheFolder, keys, store, site, encryption } = config;
    const registry = await inspectPlugins(config).catch((error: unknown) => problemOf(error));
    const hide = secretHider(typeof registry === 'string' ? undefined : registry);
    const origins: Readonly<Record<string, string | undefined>> = {
      ...config.origins,
      'temporal.address': serverOrigins[from],
      ...(config.exportedKeys === undefined ? {} : { keyFolder: 'HEDDLE_KEYS overrides it' }),
    };
    return {
      file: config.file ?? null,
      devWorkerConfig: dev?.workerConfig,
      settings: {
        dataFolder,
        cacheFolder,
        keyFolder: keys.folder,
        storeFolder: store.folder,
        ...(store.s3 && { 'store.s3': `${store.s3.bucket} at ${store.s3.endpoint}` }),
        site,
        encryption,
        'temporal.address': address,
        'temporal.namespace': namespace,
      },
      pluginFolders: config.plugins,
      providers: Object.fromEntries(
        Object.entries(config.providers).map(([name, provider]) => [
          name,
          { ...provider, fields: hide(provider.type, provider.fields) },
        ]),
      ),
      origins,
      otherUser: otherOwnerOf(config.dataFolder),
      problem: typeof registry === 'string' ? registry : problemWith(registry, config),
    };
  },
  {
    document: ({ file, devWorkerConfig, settings, otherUser: _otherUser, problem: _problem, ...rest }) => ({
      file,
      devWorkerConfig,
      ...settings,
      ...rest,
    }),
    error: ({ problem }) =>
      problem === undefined ? undefined : new CliError('Invalid', problem, { next: 'heddle plugins' }),
    print: (output, { file, devWorkerConfig, settings, pluginFolders, providers, origins, otherUser }) => {
      output.line(
        file === null ? 'no heddle.yaml; using defaults and the environment' : `heddle.yaml: ${file}`,
      );
      const rows = Object.entries(settings).map(([key, value]) => [key, value, origins[key] ?? '-']);
      output.table(['SETTING', 'VALUE', 'FROM'], rows);
      output.line(`plugin folders: ${['(built in)', ...pluginFolders].join(', ')}`);
      if (Object.keys(providers).length === 0) output.line('providers: none');
      for (const [name, { type, site: at, fields }] of Object.entries(providers))
        output.line(
          `provider ${name}: type ${type}, site ${at}, ${describeFields(fields)} (${origins[`providers.${name}`] ?? '-'})`,
        );
      if (otherUser !== undefined)
        output.line(
          `workers run as user ${otherUser}: to check the files that heddle.yaml names: sudo -u '#${otherUser}' heddle config show`,
        );
      if (devWorkerConfig !== undefined)
        output.line(`heddle dev is running here; its workers use ${devWorkerConfig}`);
    },
  },
);

type Hide = (type: string, fields: JsonObject) => JsonObject;

/** The plugin declares which fields are secret; if it cannot be loaded, any may be. */
function secretHider(registry: Registry | undefined): Hide {
  return (type, fields) =>
    hideSecrets(registry?.providers().find(({ descriptor }) => descriptor.name === type)?.descriptor, fields);
}

/** What a worker would refuse of the configuration; which files it trusts depends on its user. */
function problemWith(registry: Registry, config: Config): string | undefined {
  try {
    checkConfiguration(registry, config, { files: otherOwnerOf(config.dataFolder) === undefined });
    return undefined;
  } catch (error) {
    return problemOf(error);
  }
}

/** @throws any error but a ProblemsError. */
function problemOf(error: unknown): string {
  if (error instanceof ProblemsError) return error.message;
  throw error;
}
