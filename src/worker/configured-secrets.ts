import { dirname, join } from 'node:path';
import type { Config } from '../config/index.js';
import type { Json, JsonObject } from '../model/json.js';
import { poolAccount } from '../model/names.js';
import { findReferences, writtenReferences } from '../model/secret-reference.js';
import { loginReferences } from '../plugins/login-references.js';
import type { Registry } from '../plugins/registry.js';
import type { Descriptor } from '../schema/descriptor.js';
import { namedByFields } from '../schema/field-files.js';
import { pathsIn } from '../schema/named-files.js';
import { inventoriesOf } from '../schema/references.js';

type Written = Pick<Config, 'providers' | 'automators' | 'webhooks' | 'bucket'> &
  Partial<Pick<Config, 'commandVariables'>> & {
    /** Variables that plugins get, by their names. */
    readonly programs?: Pick<Config['programs'], 'passed'>;
  };

interface ConfiguredSecrets {
  /**
   * References that heddle.yaml and its inventories use, `file:` for each file that they name, and `env:` for each
   * variable that heddle.yaml grants to plugins and commands.
   */
  readonly known: ReadonlySet<string>;
  /**
   * Reads the inventories that changed, if the value holds references. References that an inventory had before are kept: it may
   * be half written.
   */
  update(value: Json): Promise<void>;
}

export function configuredSecrets(
  { providers, automators, webhooks, bucket, programs, commandVariables = [] }: Written,
  registry: Registry,
): ConfiguredSecrets {
  const known = new Set(writtenReferences({ providers, automators, webhooks, bucket }));
  for (const name of [...Object.values(programs?.passed ?? {}).flat(), ...commandVariables])
    known.add(`env:${name}`);
  const close = (paths: readonly string[]): void => paths.forEach((path) => known.add(`file:${path}`));
  const closeFields = (descriptor: Descriptor, fields: JsonObject): void =>
    close(namedByFields(descriptor, fields).flatMap(({ kind, named }) => pathsIn(kind, named)));
  const plugins = registry.providers();
  for (const { type, fields } of Object.values(providers)) {
    const descriptor = plugins.find(({ descriptor: { name } }) => name === type)?.descriptor;
    if (descriptor === undefined) continue;
    closeFields(descriptor, fields);
    for (const { file } of inventoriesOf(descriptor, fields))
      close([file, ...['group_vars', 'host_vars'].map((name) => join(dirname(file), name))]);
  }
  for (const { descriptor } of registry.automators())
    closeFields(descriptor, automators[descriptor.name]?.fields ?? {});
  const read = async (): Promise<void> => {
    for (const reference of (await loginReferences(providers, poolAccount, plugins)).references)
      known.add(reference);
  };
  // For the first apply; each use reads them again.
  void read().catch(() => undefined);
  return { known, update: async (value) => (findReferences(value).length === 0 ? undefined : read()) };
}
