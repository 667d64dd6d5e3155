import { z } from 'zod';
import type { Json } from '../../model/json.js';
import { anyJsonSchema } from '../any-fields.js';
import { secretReferenceSchema } from '../fields.js';
import { clusterNameSchema } from '../names.js';

const nameRule = 'Letters, digits and underscores; a letter first; at most 63 characters.';

/** Names of variables and outputs: environment variables and expressions hold them. */
const valueNameSchema = z.string().regex(/^[A-Za-z]\w{0,62}$/, { error: nameRule });

export function isValueName(name: string): boolean {
  return valueNameSchema.safeParse(name).success;
}

const variableTypes = ['text', 'number', 'boolean', 'list', 'map'] as const;
export type VariableType = (typeof variableTypes)[number];

const sourceSchema = z.string().refine(isClusterReference, { error: 'names no cluster' });

function isClusterReference(text: string): boolean {
  return text.startsWith('cluster/') && clusterNameSchema.safeParse(text.slice('cluster/'.length)).success;
}

/** A variable as people declare it. `value` stands only in specs that are read already. */
const declarationSchema = z.strictObject({
  type: z
    .enum(variableTypes)
    .optional()
    .meta({ title: 'Type', description: 'text (the default), number, boolean, list or map.' }),
  default: anyJsonSchema
    .optional()
    .meta({ title: 'Default', description: 'Its value if none is given. Without one, a value is required.' }),
  description: z
    .string()
    .max(1_000)
    .optional()
    .meta({ title: 'Description', description: 'Shown where the value is asked for.' }),
  allowed: z
    .array(anyJsonSchema)
    .min(1)
    .max(1_000)
    .optional()
    .meta({ title: 'Allowed values', description: 'The only values that it may have.' }),
  secret: z
    .literal(true)
    .optional()
    .meta({
      title: 'Secret',
      description: 'Its value is not shown, and can be used only in fields of actions and in secret outputs.',
    }),
  from: sourceSchema
    .optional()
    .meta({ title: 'From', description: 'cluster/NAME: its value is an output of that cluster.' }),
  output: valueNameSchema
    .optional()
    .meta({ title: 'Output', description: 'Name of that output; the name of the variable unless given.' }),
  value: anyJsonSchema
    .optional()
    .meta({ title: 'Value', description: 'heddle apply puts it in; files declare variables without it.' }),
});

export type VariableDeclaration = z.output<typeof declarationSchema>;

export const variableSchema = declarationSchema
  .superRefine((variable, context) => {
    for (const [key, message] of mismatches(variable))
      context.addIssue({ code: 'custom', path: [key], message });
  })
  .meta({ title: 'Variable', description: 'A value that is given when the cluster is applied.' });

function mismatches({ from, output, ...own }: VariableDeclaration): readonly (readonly [string, string])[] {
  if (from === undefined)
    return [
      ...(output === undefined ? [] : [['output', 'names an output, and from names no cluster'] as const]),
      ...wrongAllowed(own),
    ];
  const { type, secret, allowed, default: fallback } = own;
  return Object.entries({ type, secret, allowed, default: fallback })
    .filter(([, value]) => value !== undefined)
    .map(([key]) => [key, 'stands beside from: the other cluster says what the value is'] as const);
}

/** A value of another type would never be permitted. */
function wrongAllowed({
  type = 'text',
  allowed = [],
}: Pick<VariableDeclaration, 'type' | 'allowed'>): readonly (readonly [string, string])[] {
  return allowed.some((value) => !isOfType(value, type))
    ? [['allowed', `has a value that is not ${typeWords[type]}`]]
    : [];
}

export const typeWords: Readonly<Record<VariableType, string>> = {
  text: 'a text',
  number: 'a number',
  boolean: 'true or false',
  list: 'a list',
  map: 'a mapping',
};

export function isSecretReference(value: Json): boolean {
  return secretReferenceSchema.safeParse(value).success;
}

export function isOfType(value: Json, type: VariableType = 'text'): boolean {
  switch (type) {
    case 'list':
      return Array.isArray(value);
    case 'map':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'text':
      return typeof value === 'string';
    default:
      return typeof value === type;
  }
}

/**
 * Variables of a spec that was read: only those whose values are put in where they are used. The others are in
 * the spec itself.
 */
export const variablesSchema = z
  .record(valueNameSchema, variableSchema)
  .optional()
  .transform((variables, context) => {
    if (variables === undefined) return undefined;
    const bound = Object.entries(variables).map(([name, { from, output, value }]) => {
      if (from !== undefined) return [name, { from, output: output ?? name }] as const;
      if (value === undefined)
        context.addIssue({ code: 'custom', path: [name, 'value'], message: 'is missing' });
      return [name, { secret: true as const, value: value ?? null }] as const;
    });
    return Object.fromEntries(bound) as Readonly<Record<string, BoundVariable>>;
  })
  .meta({ title: 'Variables', description: 'Values that are given when the cluster is applied, by name.' });

/** A variable whose value is put in when a task is created. */
type BoundVariable =
  | { readonly from: string; readonly output: string }
  | { readonly secret: true; readonly value: Json };

const outputSchema = z
  .union(
    [
      z.string().transform((value) => ({ value }) as { value: Json; secret?: true }),
      z.strictObject({
        value: anyJsonSchema.meta({ title: 'Value', description: 'A text with expressions, or any value.' }),
        secret: z
          .literal(true)
          .exactOptional()
          .meta({ title: 'Secret', description: 'Lists of outputs do not show it.' }),
        description: z
          .string()
          .max(1_000)
          .exactOptional()
          .meta({ title: 'Description', description: 'For people.' }),
      }),
    ],
    { error: 'is neither a text nor a mapping with value' },
  )
  .meta({ title: 'Output', description: 'A text with expressions, or {value, secret, description}.' });

export const outputsSchema = z
  .record(valueNameSchema, outputSchema)
  .optional()
  .meta({ title: 'Outputs', description: 'Values for people and for other clusters, by name.' });
