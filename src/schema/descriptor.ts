import { z } from 'zod';
import type { Json } from '../model/json.js';
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
      description: `Sets of ${whose} fields, of which one must be given in full.`,
    });

const fieldsSchema = z
  .strictObject({
    admin: fieldMapSchema
      .prefault({})
      .meta({
        title: "Administrators' fields",
        description: 'Set once for a provider account: credentials, endpoints.',
      }),
    user: fieldMapSchema
      .prefault({})
      .meta({ title: "Users' fields", description: 'Set in each cluster: scripts, networks.' }),
    required: z
      .strictObject({ admin: alternativesSchema("administrators'"), user: alternativesSchema("users'") })
      .prefault({})
      .meta({
        title: 'Required',
        description: 'Sets of fields of which one must be given in full: [[a, b], [c]] is (a and b) or c.',
      }),
  })
  .meta({ title: 'Fields', description: 'What administrators and users fill in.' });

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
      .meta({ title: 'Description', description: 'What it does, in a sentence.' }),
    idempotency: z
      .enum(['token', 'name', 'tag', 'none'])
      .exactOptional()
      .meta({
        title: 'Idempotency',
        description:
          'Providers: how CREATE is kept to one machine for a key. token: the call may be repeated; name, tag: look first; none.',
      }),
    consistencyWindowMs: z
      .int()
      .min(0)
      .max(3_600_000)
      .exactOptional()
      .meta({
        title: 'Consistency window',
        description: 'Providers: how long lists may lag behind a change, in ms.',
      }),
    callDeadlineMs: z
      .int()
      .min(100)
      .max(300_000)
      .exactOptional()
      .meta({
        title: 'Call deadline',
        description: 'Providers: longest time one call to the provider takes, in ms; 100 to 300000.',
      }),
    serial: z
      .boolean()
      .exactOptional()
      .meta({
        title: 'Serial',
        description: 'Providers: whether an account bears only one call at a time, over all workers.',
      }),
    countsCalls: z
      .boolean()
      .exactOptional()
      .meta({
        title: 'Counts calls',
        description:
          'Providers: whether it waits before each call of its API, so that an account may have limits.callsPerSecond.',
      }),
    prepares: z
      .enum(['all', 'users'])
      .exactOptional()
      .meta({
        title: 'Prepares',
        description: 'Automators: BOOTSTRAP runs on all nodes, or only on nodes with services that use it.',
      }),
    needs: z
      .array(z.string().regex(/^[\w.+-]+$/, { error: 'Name of a program, without its folder.' }))
      .exactOptional()
      .meta({ title: 'Needs', description: 'Programs that workers must have on PATH, such as ipmitool.' }),
    resources: resourcesSchema.exactOptional(),
    capabilities: z
      .array(z.string())
      .exactOptional()
      .meta({ title: 'Capabilities', description: 'Words for what it can do, for people.' }),
    fields: fieldsSchema.prefault({}),
  })
  .meta({ title: 'Heddle plugin', description: 'What a plugin is, and which fields it has.' });

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
  /** Absent where `command` is there. */
  readonly class?: string;
  /** The program that carries out each call. */
  readonly command?: readonly string[];
  /** What the program may ask while it works. */
  readonly requests: readonly string[];
  /** Optional methods of a program; those of a class are seen. */
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
  /** What it brings along in its folder, and what people put into the store for it, by name. */
  readonly resources?: Readonly<Record<string, DeclaredResource>>;
  /** Absent where the plugin declares none (the seed's form): then any field is taken as it is. */
  readonly fields?: FieldDeclarations;
}

/** What the schema cannot say of a descriptor: that its fields fit together. */
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
          errorAt(['fields', 'required', scope, index], `names ${key}, which is no field of ${scope}`),
        ),
    ),
    ...(scope === 'user'
      ? Object.keys(fields)
          .filter((key) => Object.hasOwn(admin, key))
          .map((key) =>
            errorAt(
              ['fields', 'user', key],
              'is a field of admin too',
              'Keep it there with overridable: true or listed.',
            ),
          )
      : []),
    // What is passed on is resolved later as the administrator's, without secrets.allow.
    ...(scope === 'user'
      ? Object.entries(fields)
          .filter(([, { passReferences = false }]) => passReferences !== false)
          .map(([key]) =>
            errorAt(
              ['fields', 'user', key, 'passReferences'],
              'is for fields of admin',
              'References of users are always resolved before the plugin is called.',
            ),
          )
      : []),
  ]);
}

function checkDeclaration(path: readonly string[], field: FieldDeclaration): readonly Problem[] {
  const problems: Problem[] = [];
  if ((field.type === 'select') !== (field.options !== undefined)) {
    problems.push(
      errorAt(
        path,
        field.type === 'select' ? 'is a select without options' : 'has options, but is no select',
      ),
    );
  }
  if (field.keys !== undefined && field.type !== 'map')
    problems.push(errorAt(path, 'has keys, but is no map'));
  if (field.codeKeys !== undefined && (field.type !== 'map' || field.content !== 'data'))
    problems.push(errorAt(path, 'has codeKeys, but is no map with content: data'));
  if (field.secret === true && field.default !== undefined)
    problems.push(errorAt(path, 'is a secret with a default', 'A secret has none.'));
  return problems;
}

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

const keysOfType: Readonly<Record<PluginType, readonly (keyof z.output<typeof descriptorSchema>)[]>> = {
  provider: ['idempotency', 'consistencyWindowMs', 'callDeadlineMs', 'serial', 'countsCalls'],
  automator: ['prepares'],
};

/** Keys that have a meaning only for plugins of the other type. */
export function checkKeysOfType(written: z.output<typeof descriptorSchema>): readonly Problem[] {
  const other = written.type === 'provider' ? 'automator' : 'provider';
  return keysOfType[other]
    .filter((key) => written[key] !== undefined)
    .map((key) =>
      errorAt([key], `is for ${other}s, and the plugin is of type ${written.type}`, 'Remove it.'),
    );
}

/** Everything the schema cannot say of a descriptor. */
export function checkDescriptor(descriptor: Descriptor): readonly Problem[] {
  return [
    ...checkProgram(descriptor),
    ...checkResourceDeclarations(descriptor),
    ...(descriptor.fields === undefined ? [] : checkDeclarations(descriptor.fields)),
  ];
}

export function fillDescriptor({
  $schema: _schema,
  ...written
}: z.output<typeof descriptorSchema>): Descriptor {
  return { ...providerDefaults, ...written };
}

/**
 * The predecessor's descriptors: `{"my_provider": {"classname": "MyProvider"}}`; the folder tells the type.
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
