import { z } from 'zod';
import type { FieldFault } from '../model/field-fault.js';
import type { Json, JsonObject } from '../model/json.js';
import { pluginNameSchema } from './names.js';
import { errorAt, type Problem } from './problem.js';
import { checkProgram, programSchemas, type PluginLimits } from './descriptor-program.js';
import { fieldSchema, type FieldDeclaration, type FieldScope } from './descriptor-field.js';
import { checkDeclaredConstraints } from './field-constraints.js';
import { checkResourceDeclarations, resourcesSchema, type DeclaredResource } from './descriptor-resources.js';

const pluginTypes = ['provider', 'automator'] as const;
export type PluginType = (typeof pluginTypes)[number];

const fieldMapSchema = z.record(
  z
    .string()
    .regex(/^[A-Za-z][\w-]{0,62}$/, { error: 'Letters, digits, hyphens and underscores; a letter first.' }),
  fieldSchema,
);
const alternativesSchema = (whose: string) =>
  z
    .array(z.array(z.string()).min(1))
    .default([])
    .meta({
      title: 'Alternatives',
      description: `Sets of ${whose} fields. All fields of at least one set are required.`,
    });

/** The fields of a descriptor, also in the file that it includes. */
export const fieldsSchema = z
  .strictObject({
    admin: fieldMapSchema
      .prefault({})
      .meta({
        title: "Administrators' fields",
        description: 'Fields that are set once for a provider account, such as credentials and endpoints.',
      }),
    user: fieldMapSchema
      .prefault({})
      .meta({
        title: "Users' fields",
        description: 'Fields that are set in each cluster, such as scripts and networks.',
      }),
    required: z
      .strictObject({ admin: alternativesSchema("administrators'"), user: alternativesSchema("users'") })
      .prefault({})
      .meta({
        title: 'Required',
        description: 'Sets of required fields: [[a, b], [c]] requires (a and b) or c.',
      }),
  })
  .meta({ title: 'Fields', description: 'Fields of administrators and users.' });

const providerDefaults = {
  idempotency: 'none',
  consistencyWindowMs: 0,
  callDeadlineMs: 30_000,
  serial: false,
  countsCalls: false,
  prepares: 'all',
  needs: [],
  capabilities: [],
  requests: [],
  abilities: [],
  environment: {},
  limits: {},
} as const;

/** A plugin's descriptor as its author writes it: `<name>.json` in the plugin's folder. */
export const descriptorSchema = z
  .strictObject({
    $schema: z
      .string()
      .exactOptional()
      .meta({ title: 'Schema', description: 'Address of this JSON Schema, for editors; not used.' }),
    name: pluginNameSchema.meta({
      title: 'Name',
      description: 'Lower-case letters, digits, hyphens and underscores; unique among plugins of its type.',
    }),
    type: z.enum(pluginTypes).meta({ title: 'Type', description: 'provider or automator.' }),
    entry: z
      .string()
      .min(1)
      .exactOptional()
      .meta({ title: 'Entry', description: 'The module that exports the class, relative to this file.' }),
    class: z
      .string()
      .regex(/^[A-Za-z_$][\w$]*$/, { error: 'Name of an exported class.' })
      .exactOptional()
      .meta({ title: 'Class', description: 'Name of the exported class.' }),
    ...programSchemas,
    version: z
      .string()
      .regex(/^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/, { error: 'Three numbers, such as 1.0.0.' })
      .meta({ title: 'Version', description: 'Three numbers, such as 1.0.0.' }),
    description: z
      .string()
      .min(1)
      .meta({ title: 'Description', description: 'Purpose of the plugin, in one sentence.' }),
    idempotency: z
      .enum(['token', 'name', 'tag', 'none'])
      .exactOptional()
      .meta({
        title: 'Idempotency',
        default: providerDefaults.idempotency,
        description:
          'Providers: how CREATE avoids a second machine for a key. token: the call can be repeated; name, tag: find is called first; none: no protection.',
      }),
    consistencyWindowMs: z
      .int()
      .min(0)
      .max(3_600_000)
      .exactOptional()
      .meta({
        title: 'Consistency window',
        default: providerDefaults.consistencyWindowMs,
        description: 'Providers: maximum delay until lists show a change, in ms.',
      }),
    callDeadlineMs: z
      .int()
      .min(100)
      .max(300_000)
      .exactOptional()
      .meta({
        title: 'Call deadline',
        default: providerDefaults.callDeadlineMs,
        description: 'Providers: timeout of one call to the provider, in ms; 100 to 300000.',
      }),
    serial: z
      .boolean()
      .exactOptional()
      .meta({
        title: 'Serial',
        default: providerDefaults.serial,
        description: 'Providers: whether an account allows only one call at a time, over all workers.',
      }),
    countsCalls: z
      .boolean()
      .exactOptional()
      .meta({
        title: 'Counts calls',
        default: providerDefaults.countsCalls,
        description:
          'Providers: whether the plugin requests a permit before each API call, which limits.callsPerSecond of an account requires.',
      }),
    prepares: z
      .enum(['all', 'users'])
      .exactOptional()
      .meta({
        title: 'Prepares',
        default: providerDefaults.prepares,
        description:
          'Automators: whether BOOTSTRAP runs on all nodes, or only on nodes with services that use the automator (users).',
      }),
    needs: z
      .array(z.string().regex(/^[\w.+-]+$/, { error: 'Name of a program, without its folder.' }))
      .exactOptional()
      .meta({ title: 'Needs', description: 'Programs that workers need on PATH, such as ipmitool.' }),
    resources: resourcesSchema.exactOptional(),
    capabilities: z
      .array(z.string())
      .exactOptional()
      .meta({ title: 'Capabilities', description: 'Capabilities of the plugin, for users.' }),
    include: z
      .string()
      .regex(/\.fields\.json$/, { error: 'must be a file NAME.fields.json' })
      .exactOptional()
      .meta({
        title: 'Include',
        description:
          "File NAME.fields.json in the plugin's folder, relative to this file, with fields that several plugins share. `fields` adds to them, and replaces those of the same name.",
      }),
    fields: fieldsSchema.prefault({}),
  })
  .meta({ title: 'Heddle plugin', description: 'The descriptor of a plugin, with its fields.' });

export type { FieldDeclaration, FieldScope };
export type FieldDeclarations = z.output<typeof fieldsSchema>;

/** A descriptor with its defaults filled in. */
export interface Descriptor {
  readonly name: string;
  readonly type: PluginType;
  /**
   * Relative to the descriptor's folder; absent in the seed's form: `<name>` with any ending that can be
   * loaded.
   */
  readonly entry?: string;
  /** Absent if `command` is set. */
  readonly class?: string;
  /** The program that executes each call. */
  readonly command?: readonly string[];
  /** Versions of the protocol that the program speaks; only the first one if absent. */
  readonly protocol?: readonly number[];
  /** Requests that the program may send while it runs. */
  readonly requests: readonly string[];
  /** Optional methods of a program; those of a class are detected. */
  readonly abilities: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Packages of the program's Python environment. */
  readonly python?: string;
  readonly limits: PluginLimits;
  readonly version: string;
  readonly description: string;
  readonly idempotency: 'token' | 'name' | 'tag' | 'none';
  readonly consistencyWindowMs: number;
  readonly callDeadlineMs: number;
  readonly serial: boolean;
  readonly countsCalls: boolean;
  readonly prepares: 'all' | 'users';
  /** Programs that workers must have on PATH. */
  readonly needs: readonly string[];
  readonly capabilities: readonly string[];
  /** Resources that it contains in its folder, and kinds of resources that users store for it, by name. */
  readonly resources?: Readonly<Record<string, DeclaredResource>>;
  /** Absent if the plugin declares none (the seed's form): any field is then passed on unchecked. */
  readonly fields?: FieldDeclarations;
  /**
   * Rules that the declarations cannot express, in the code of a built-in plugin. Values of the
   * administrator may be references, and those of users may be absent.
   */
  readonly rules?: (fields: JsonObject) => readonly FieldFault[];
}

/** Checks fields against each other, which the schema cannot express. */
function checkDeclarations({ admin, user, required }: FieldDeclarations): readonly Problem[] {
  const scopes = [
    ['admin', admin],
    ['user', user],
  ] as const;
  return scopes.flatMap(([scope, fields]) => [
    ...Object.entries(fields).flatMap(([key, field]) => checkDeclaration(['fields', scope, key], field)),
    ...checkDeclaredConstraints(scope, fields),
    ...required[scope].flatMap((set, index) =>
      set
        .filter((key) => !Object.hasOwn(fields, key))
        .map((key) =>
          errorAt(['fields', 'required', scope, index], `names ${key}, which is not a field of ${scope}`),
        ),
    ),
    ...(scope === 'user'
      ? Object.keys(fields)
          .filter((key) => Object.hasOwn(admin, key))
          .map((key) =>
            errorAt(
              ['fields', 'user', key],
              'is also a field of admin',
              'Keep only that one, with overridable: true or listed.',
            ),
          )
      : []),
    // Passed references are resolved later as the administrator's, without secrets.allow.
    ...(scope === 'user'
      ? Object.entries(fields)
          .filter(([, { passReferences = false }]) => passReferences !== false)
          .map(([key]) =>
            errorAt(
              ['fields', 'user', key, 'passReferences'],
              'is allowed only for fields of admin',
              'References of users are always resolved before the plugin is called.',
            ),
          )
      : []),
  ]);
}

function checkDeclaration(path: readonly string[], field: FieldDeclaration): readonly Problem[] {
  const problems: Problem[] = [];
  if (field.keys !== undefined && field.type !== 'map')
    problems.push(errorAt(path, 'has keys, which require type map'));
  if (field.codeKeys !== undefined && (field.type !== 'map' || field.content !== 'data'))
    problems.push(errorAt(path, 'has codeKeys, which require type map and content: data'));
  if (field.secret === true && field.default !== undefined)
    problems.push(errorAt(path, 'is a secret with a default', 'Remove the default.'));
  return problems;
}

const keysOfType: Readonly<Record<PluginType, readonly (keyof z.output<typeof descriptorSchema>)[]>> = {
  provider: ['idempotency', 'consistencyWindowMs', 'callDeadlineMs', 'serial', 'countsCalls'],
  automator: ['prepares'],
};

/** Reports keys that apply only to plugins of the other type. */
export function checkKeysOfType(written: z.output<typeof descriptorSchema>): readonly Problem[] {
  const other = written.type === 'provider' ? 'automator' : 'provider';
  return keysOfType[other]
    .filter((key) => written[key] !== undefined)
    .map((key) =>
      errorAt([key], `applies only to ${other}s, but the plugin is of type ${written.type}`, 'Remove it.'),
    );
}

/** Checks everything that the schema cannot express. */
export function checkDescriptor(descriptor: Descriptor): readonly Problem[] {
  return [
    ...checkProgram(descriptor),
    ...checkResourceDeclarations(descriptor),
    ...(descriptor.fields === undefined ? [] : checkDeclarations(descriptor.fields)),
  ];
}

export function fillDescriptor(
  { $schema: _schema, include: _include, fields, ...written }: z.output<typeof descriptorSchema>,
  included?: FieldDeclarations,
): Descriptor {
  return { ...providerDefaults, ...written, fields: mergeFields(included, fields) };
}

function mergeFields(included: FieldDeclarations | undefined, own: FieldDeclarations): FieldDeclarations {
  if (included === undefined) return own;
  const requiredOf = (scope: FieldScope): FieldDeclarations['required']['admin'] =>
    own.required[scope].length > 0 ? own.required[scope] : included.required[scope];
  return {
    admin: { ...included.admin, ...own.admin },
    user: { ...included.user, ...own.user },
    required: { admin: requiredOf('admin'), user: requiredOf('user') },
  };
}

/**
 * The predecessor's descriptors: `{"my_provider": {"classname": "MyProvider"}}`; the folder
 * determines the type.
 */
export const seedDescriptorSchema = z.record(
  pluginNameSchema,
  z.strictObject({ classname: z.string().regex(/^[A-Za-z_$][\w$]*$/, { error: 'Name of a class.' }) }),
);

export function isSeedForm(value: Json): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.values(value);
  return (
    entries.length > 0 &&
    entries.every((entry: Json) => typeof entry === 'object' && entry !== null && 'classname' in entry)
  );
}

export function descriptorsOfSeed(
  seed: z.output<typeof seedDescriptorSchema>,
  type: PluginType,
): readonly Descriptor[] {
  return Object.entries(seed).map(([name, { classname }]) => ({
    ...providerDefaults,
    name,
    type,
    class: classname,
    version: '0.0.0',
    description: `${type} ${name}`,
  }));
}
