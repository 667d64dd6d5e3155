import { dirname, join } from 'node:path';
import type { Config } from '../config/index.js';
import type { Json } from '../model/json.js';
import { poolAccount } from '../model/names.js';
import { findReferences } from '../model/secret-reference.js';
import { loginReferences } from '../plugins/login-references.js';
import type { Registry } from '../plugins/registry.js';
import { namedByFields } from '../schema/field-files.js';
import { pathsIn, type NamedFile } from '../schema/named-files.js';
import { inventoriesOf } from '../schema/references.js';

type Written = Pick<Config, 'providers' | 'automators'> &
  Partial<Pick<Config, 'references' | 'namedFiles' | 'plugins' | 'pluginEnvironment' | 'secrets'>>;

interface ConfiguredSecrets {
  /**
   * References that heddle.yaml and its inventories use, `file:` for each file that they name,
   * and `env:` for each variable that heddle.yaml grants to plugins and commands.
   */
  readonly known: ReadonlySet<string>;
  /** Words of the commands that heddle.yaml names. */
  readonly commands: readonly (readonly string[])[];
  /**
   * Reads the inventories that changed, if the value holds references. References that an
   * inventory had before are kept: it may be half written.
   */
  update(value: Json): Promise<void>;
}

export function configuredSecrets(
  {
    providers,
    automators,
    references = [],
    namedFiles = [],
    plugins: pluginFolders = [],
    pluginEnvironment = {},
    secrets = { environment: [] },
  }: Written,
  registry: Registry,
): ConfiguredSecrets {
  const known = new Set(references);
  for (const name of [...Object.values(pluginEnvironment).flat(), ...secrets.environment])
    known.add(`env:${name}`);
  const commands: (readonly string[])[] = [];
  const close = (paths: readonly string[]): void => paths.forEach((path) => known.add(`file:${path}`));
  const closeNamed = (files: readonly NamedFile[]): void => {
    for (const { kind, named } of files) {
      close(pathsIn(kind, named));
      if (kind === 'command') commands.push(wordsIn(named));
    }
  };
  closeNamed(namedFiles);
  close(pluginFolders);
  const plugins = registry.providers();
  for (const { type, fields } of Object.values(providers)) {
    const descriptor = plugins.find(({ descriptor: { name } }) => name === type)?.descriptor;
    if (descriptor === undefined) continue;
    closeNamed(namedByFields(descriptor, fields));
    for (const { file } of inventoriesOf(descriptor, fields))
      close([file, ...['group_vars', 'host_vars'].map((name) => join(dirname(file), name))]);
  }
  for (const { descriptor } of registry.automators())
    closeNamed(namedByFields(descriptor, automators[descriptor.name]?.fields ?? {}));
  // An inventory names the secrets of its other groups, too.
  const ofAllGroups = Object.fromEntries(
    Object.entries(providers).map(([name, { type, fields }]) => {
      const others = Object.entries(fields).filter(([key]) => key !== 'groups');
      return [name, { type, fields: Object.fromEntries(others) }];
    }),
  );
  const read = async (): Promise<void> => {
    for (const reference of (await loginReferences(ofAllGroups, poolAccount, plugins)).references.keys())
      known.add(reference);
  };
  // For the first apply; each use reads them again.
  void read().catch(() => undefined);
  return {
    known,
    commands,
    update: async (value) => (findReferences(value).length === 0 ? undefined : read()),
  };
}

function wordsIn(command: Json): readonly string[] {
  return (Array.isArray(command) ? command : [command]).filter((word: Json) => typeof word === 'string');
}
