import { z } from 'zod';
import type { Json } from '../../model/json.js';
import { anyJsonSchema } from '../any-fields.js';
import { patternFault } from '../field-constraints.js';
import { clusterNameSchema } from '../names.js';
import { importFormats, ruleOf, type ImportRule } from './import-value.js';
import { isOfType, typeWords, variableTypes } from './variable-type.js';

const nameRule = 'Letters, digits and underscores; a letter first; at most 63 characters.';

/** Names of variables and outputs: environment variables and expressions hold them. */
const valueNameSchema = z.string().regex(/^[A-Za-z]\w{0,62}$/, { error: nameRule });

export function isValueName(name: string): boolean {
  return valueNameSchema.safeParse(name).success;
}

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
  format: z
    .enum(importFormats)
    .optional()
    .meta({
      title: 'Format',
      description:
        'What the value of the other cluster must look like; word unless format or pattern is given.',
    }),
  pattern: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .meta({
      title: 'Pattern',
      description: 'In place of format: the regular expression (RE2) that the whole value matches.',
    }),
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

type Mismatch = readonly [key: string, message: string];

function mismatches({ from, ...own }: VariableDeclaration): readonly Mismatch[] {
  return from === undefined ? mismatchesOfOwn(own) : mismatchesOfImport(own);
}

function mismatchesOfOwn({ output, format, pattern, ...own }: VariableDeclaration): readonly Mismatch[] {
  const ofImports = Object.entries({ output, format, pattern })
    .filter(([, value]) => value !== undefined)
    .map(([key]): Mismatch => [
      key,
      'is only for a value of another cluster, and the variable has no `from`',
    ]);
  return [...ofImports, ...wrongAllowed(own)];
}

function mismatchesOfImport(variable: VariableDeclaration): readonly Mismatch[] {
  const { type, format, pattern, secret, allowed, default: fallback } = variable;
  const fault = pattern === undefined ? undefined : patternFault(pattern);
  const isBare = type === 'number' || type === 'boolean';
  return [
    ...Object.entries({ secret, allowed, default: fallback })
      .filter(([, value]) => value !== undefined)
      .map(([key]): Mismatch => [key, 'stands beside from: the other cluster says what the value is']),
    ...Object.entries({ format, pattern })
      .filter(([, value]) => isBare && value !== undefined)
      .map(([key]): Mismatch => [key, `is for texts, and the type is ${type}`]),
    ...(fault === undefined ? [] : [['pattern', fault] as const]),
    ...(format === undefined || pattern === undefined
      ? []
      : [['pattern', 'stands beside format: give one of them'] as const]),
  ];
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

/**
 * Variables of a spec that was read: only those whose values are put in where they are used. The others are in
 * the spec itself.
 */
export const variablesSchema = z
  .record(valueNameSchema, variableSchema)
  .optional()
  .transform((variables, context) => {
    if (variables === undefined) return undefined;
    const bound = Object.entries(variables).map(([name, { from, output, value, ...declared }]) => {
      if (from !== undefined) return [name, { from, output: output ?? name, ...ruleOf(declared) }] as const;
      if (value === undefined)
        context.addIssue({ code: 'custom', path: [name, 'value'], message: 'is missing' });
      return [name, { secret: true as const, value: value ?? null }] as const;
    });
    return Object.fromEntries(bound) as Readonly<Record<string, BoundVariable>>;
  })
  .meta({ title: 'Variables', description: 'Values that are given when the cluster is applied, by name.' });

/** A variable whose value is put in when a task is created. */
type BoundVariable =
  | ({ readonly from: string; readonly output: string } & ImportRule)
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
