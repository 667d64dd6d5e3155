import type { Descriptor, FieldDeclaration, FieldScope } from '../../schema/descriptor.js';
import { describeCondition, describeConstraints } from '../../schema/field-constraints.js';
import { fieldsJsonSchema } from '../../schema/fields.js';
import { suggest } from '../../schema/suggest.js';
import type { RegisteredAutomator, RegisteredProvider } from '../../plugins/registry.js';
import { inspectPlugins } from '../inspect-plugins.js';
import { cleanJson } from '../clean-text.js';
import { CliError } from '../errors.js';
import { readConfiguration, type CommonOptions } from '../configuration.js';
import type { Output } from '../output.js';
import { formatTable } from '../table.js';
import { lackingPrograms } from './lacking.js';
import { localVerb } from '../verb.js';

type Plugin = (RegisteredProvider | RegisteredAutomator) & {
  /** Programs that it needs and that this machine does not have. */
  readonly lacks: readonly string[];
};

/** The plugins of a worker with this configuration on this machine; loaded here, without asking a worker. */
export const list = localVerb((options: CommonOptions) => loadPlugins(options), {
  document: (plugins) => ({ plugins: plugins.map(summarise) }),
  table: {
    head: ['TYPE', 'NAME', 'VERSION', 'LACKS', 'DESCRIPTION'],
    rows: (plugins) =>
      plugins.map(({ descriptor: { type, name, version, description }, lacks }) => [
        type,
        name,
        version,
        lacks.length === 0 ? '-' : lacks.join(', '),
        description,
      ]),
  },
});

interface ShowOptions extends CommonOptions {
  /** Writes the JSON schema of its fields, with or without --json. */
  readonly schema?: boolean;
}

export const show = localVerb(
  async (name: string, options: ShowOptions) => {
    const plugins = await loadPlugins(options);
    const found = plugins.filter(({ descriptor }) => descriptor.name === name);
    if (found.length > 0) return found;
    const names = plugins.map(({ descriptor }) => descriptor.name);
    const message = `plugin ${JSON.stringify(name)} does not exist. ${suggest(name, names) ?? ''}`;
    throw new CliError('NotFound', message.trim(), { next: 'heddle plugins' });
  },
  {
    document: (found, _name, { schema = false }) =>
      schema ? schemasOf(found) : { plugins: found.map(summarise) },
    print: (output, found, _name, { schema = false }) => {
      if (schema) return output.raw(cleanJson(schemasOf(found), 2));
      for (const plugin of found) printPlugin(output, plugin);
    },
  },
);

function schemasOf(found: readonly Plugin[]): object {
  const schemas = found.map(({ descriptor }) => ({
    type: descriptor.type,
    name: descriptor.name,
    admin: fieldsJsonSchema(descriptor, 'admin'),
    user: fieldsJsonSchema(descriptor, 'user'),
  }));
  const [first = {}, ...others] = schemas;
  return others.length === 0 ? first : { schemas };
}

async function loadPlugins(options: CommonOptions): Promise<readonly Plugin[]> {
  const config = readConfiguration(options);
  const registry = await inspectPlugins(config);
  const plugins = [...registry.providers(), ...registry.automators()];
  const path = config.environment['PATH'];
  return Promise.all(
    plugins.map(async (plugin) => ({ ...plugin, lacks: await lackingPrograms(plugin.descriptor, path) })),
  );
}

function summarise({ descriptor, digest, folder, abilities, lacks }: Plugin): object {
  return { ...descriptor, digest, folder, abilities, lacks };
}

function printPlugin(output: Output, { descriptor, folder, digest, abilities, lacks }: Plugin): void {
  output.raw(`${descriptor.type} ${output.style('bold', descriptor.name)} ${descriptor.version}`);
  output.line(`  ${descriptor.description}`);
  output.line(
    `  ${descriptor.command === undefined ? `class ${descriptor.class ?? ''}` : `program ${descriptor.command.join(' ')}`} in ${folder}`,
  );
  output.line(`  digest ${digest}`);
  if (lacks.length > 0) output.line(`  missing on the PATH of this machine: ${lacks.join(', ')}`);
  if (abilities.length > 0) output.line(`  abilities: ${abilities.join(', ')}`);
  for (const [name, { path, format, description = '' }] of Object.entries(descriptor.resources ?? {}))
    output.line(`  resource ${name}: ${path ?? `${format} from the store`} ${description}`.trimEnd());
  if (descriptor.type === 'provider')
    output.line(
      `  CREATE is idempotent by: ${descriptor.idempotency}; lists lag by at most ${descriptor.consistencyWindowMs} ms`,
    );
  printFields(output, descriptor, 'admin', 'fields of a provider account, in heddle.yaml');
  printFields(output, descriptor, 'user', 'fields in a cluster file');
}

function printFields(output: Output, { fields }: Descriptor, scope: FieldScope, title: string): void {
  const declared = Object.entries(fields?.[scope] ?? {});
  if (declared.length === 0) return;
  const required = fields?.required[scope] ?? [];
  const rows = declared.map(([key, field]) => [
    key,
    describeType(field),
    describeNeed(key, field, required),
    field.description ?? field.title,
  ]);
  output.line(`  ${title}:`);
  for (const line of formatTable(['', '', '', ''], rows).slice(1)) output.line(`    ${line}`);
}

function describeType(field: FieldDeclaration): string {
  const options = field.options === undefined ? '' : ` (${field.options.join('|')})`;
  const constraints = describeConstraints(field)
    .map((constraint) => `, ${constraint}`)
    .join('');
  const fallback = field.default === undefined ? '' : `, default: ${JSON.stringify(field.default)}`;
  const users =
    field.overridable === 'listed'
      ? ', users: values in allow'
      : field.overridable === true
        ? ', users: any'
        : '';
  return `${field.type}${options}${constraints}${field.secret === true ? ', secret' : ''}${field.content === 'data' ? ', data' : ''}${fallback}${users}`;
}

/** One of several sets of fields is required; a field in all of them is always required. */
function describeNeed(
  key: string,
  { requiredWhen }: FieldDeclaration,
  sets: readonly (readonly string[])[],
): string {
  if (sets.length > 0 && sets.every((set) => set.includes(key))) return 'required';
  if (sets.some((set) => set.includes(key))) return 'one of several';
  return requiredWhen === undefined ? 'optional' : `required when ${describeCondition(requiredWhen)}`;
}
