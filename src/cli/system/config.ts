import type { JsonObject } from '../../model/json.js';
import type { Config } from '../../config/index.js';
import { inspectPlugins } from '../plugin/inspect.js';
import { describeFields, hideSecrets } from '../account/field-words.js';
import { chooseServer, readConfiguration, type ServerOptions } from '../configuration.js';
import { exitCodes } from '../errors.js';
import { createOutput } from '../output.js';

/** What is configured and where each setting came from; secrets are left out. */
export async function show(options: ServerOptions): Promise<number> {
  const config = readConfiguration(options);
  const { address, namespace, from, dev } = await chooseServer(config, options);
  const { dataFolder, cacheFolder, keyFolder, storeFolder, site, encryption, file, pluginFolders, origins } =
    config;
  const serverOrigin = {
    flag: 'flag',
    configuration: 'TEMPORAL_* or temporal.toml',
    dev: 'heddle dev, which runs here',
    default: 'default',
  }[from];
  const settings = {
    dataFolder,
    cacheFolder,
    keyFolder,
    storeFolder,
    site,
    encryption,
    'temporal.address': address,
    'temporal.namespace': namespace,
  };
  const shownOrigins: Readonly<Record<string, string | undefined>> = {
    ...origins,
    'temporal.address': serverOrigin,
    ...(config.keys === undefined ? {} : { keyFolder: 'HEDDLE_KEYS takes its place' }),
  };
  const hide = await secretHider(config);
  const providers = Object.fromEntries(
    Object.entries(config.providers).map(([name, provider]) => [
      name,
      { ...provider, fields: hide(provider.type, provider.fields) },
    ]),
  );
  const output = createOutput(options);
  output.line(file === undefined ? 'no heddle.yaml: defaults and the environment' : `heddle.yaml: ${file}`);
  const rows = Object.entries(settings).map(([key, value]) => [key, value, shownOrigins[key] ?? '-']);
  output.table(['SETTING', 'VALUE', 'FROM'], rows);
  output.line(`plugin folders: ${['(built in)', ...pluginFolders].join(', ')}`);
  if (Object.keys(providers).length === 0) output.line('providers: none');
  for (const [name, { type, site: at, fields }] of Object.entries(providers)) {
    output.line(
      `provider ${name}: type ${type}, site ${at}, ${describeFields(fields)} (${origins[`providers.${name}`] ?? '-'})`,
    );
  }
  if (dev !== undefined)
    output.line(`heddle dev runs here, with what its workers have in ${dev.workerConfig}`);
  output.document({
    file: file ?? null,
    devWorkerConfig: dev?.workerConfig,
    ...settings,
    pluginFolders,
    providers,
    origins: shownOrigins,
  });
  return exitCodes.ok;
}

type Hide = (type: string, fields: JsonObject) => JsonObject;

/** The plugin says which fields are secret; where it cannot be asked, any may be. */
async function secretHider(config: Config): Promise<Hide> {
  const registry = await inspectPlugins(config).catch(() => undefined);
  return (type, fields) =>
    hideSecrets(registry?.providers().find(({ descriptor }) => descriptor.name === type)?.descriptor, fields);
}
