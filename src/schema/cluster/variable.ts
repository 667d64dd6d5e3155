import { z } from 'zod';
import type { Json } from '../../model/json.js';
import { anyJsonSchema } from '../any-fields.js';
import { patternFault } from '../field-constraints.js';
import { clusterNameSchema } from '../names.js';
import { importFormats, ruleOf, type ImportRule } from './import-value.js';
import { isOfType, typeWords, variableTypes } from './variable-type.js';

const nameRule = 'A letter, followed by letters, digits and underscores; at most 63 characters.';

/** Names of variables and outputs, which are used in environment variables and expressions. */
const valueNameSchema = z.string().regex(/^[A-Za-z]\w{0,62}$/, { error: nameRule });

export function isValueName(name: string): boolean {
  return valueNameSchema.safeParse(name).success;
}

const sourceSchema = z.string().refine(isClusterReference, { error: 'must be cluster/NAME' });

function isClusterReference(text: string): boolean {
  return text.startsWith('cluster/') && clusterNameSchema.safeParse(text.slice('cluster/'.length)).success;
}

/** A variable as users declare it. Only specs that were read already contain `value`. */
const declarationSchema = z.strictObject({
  type: z
    .enum(variableTypes)
    .optional()
    .meta({ title: 'Type', default: 'text', description: 'text, number, boolean, list or map.' }),
  default: anyJsonSchema
    .optional()
    .meta({ title: 'Default', description: 'The default value. A variable without one requires a value.' }),
  description: z
    .string()
    .max(1_000)
    .optional()
    .meta({ title: 'Description', description: 'Shown when a value is requested.' }),
  allowed: z
    .array(anyJsonSchema)
    .min(1)
    .max(1_000)
    .optional()
    .meta({ title: 'Allowed values', description: 'The allowed values. Default: all.' }),
  secret: z
    .literal(true)
    .optional()
    .meta({
      title: 'Secret',
      description:
        'Whether to hide the value. It can then be used only in fields of actions and in secret outputs.',
    }),
  from: sourceSchema
    .optional()
    .meta({ title: 'From', description: 'Takes the value from an output of another cluster: cluster/NAME.' }),
  output: valueNameSchema
    .optional()
    .meta({ title: 'Output', description: 'Name of that output. Default: the name of the variable.' }),
  format: z
    .enum(importFormats)
    .optional()
    .meta({
      title: 'Format',
      description: 'Required format of the value of the other cluster. Default: word, unless pattern is set.',
    }),
  pattern: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .meta({
      title: 'Pattern',
      description: 'Alternative to format: a regular expression (RE2) that the whole value must match.',
    }),
  value: anyJsonSchema
    .optional()
    .meta({ title: 'Value', description: 'Set by heddle apply; not for use in files.' }),
});

export type VariableDeclaration = z.output<typeof declarationSchema>;

export const variableSchema = declarationSchema
  .superRefine((variable, context) => {
    for (const [key, message] of mismatches(variable))
      context.addIssue({ code: 'custom', path: [key], message });
  })
  .meta({ title: 'Variable', description: 'A value that is set when the cluster is applied.' });

type Mismatch = readonly [key: string, message: string];

function mismatches({ from, ...own }: VariableDeclaration): readonly Mismatch[] {
  return from === undefined ? mismatchesOfOwn(own) : mismatchesOfImport(own);
}

function mismatchesOfOwn({ output, format, pattern, ...own }: VariableDeclaration): readonly Mismatch[] {
  const ofImports = Object.entries({ output, format, pattern })
    .filter(([, value]) => value !== undefined)
    .map(([key]): Mismatch => [key, 'requires from: it applies only to values of other clusters']);
  return [...ofImports, ...wrongAllowed(own)];
}

function mismatchesOfImport(variable: VariableDeclaration): readonly Mismatch[] {
  const { type, format, pattern, secret, allowed, default: fallback } = variable;
  const fault = pattern === undefined ? undefined : patternFault(pattern);
  const isBare = type === 'number' || type === 'boolean';
  return [
    ...Object.entries({ secret, allowed, default: fallback })
      .filter(([, value]) => value !== undefined)
      .map(([key]): Mismatch => [
        key,
        key === 'secret'
          ? 'cannot be combined with from: mark the output as secret in the file of the other cluster'
          : 'cannot be combined with from: the other cluster determines the value',
      ]),
    ...Object.entries({ format, pattern })
      .filter(([, value]) => isBare && value !== undefined)
      .map(([key]): Mismatch => [key, `applies only to texts, but the type is ${type}`]),
    ...(fault === undefined ? [] : [['pattern', fault] as const]),
    ...(format === undefined || pattern === undefined
      ? []
      : [['pattern', 'cannot be combined with format'] as const]),
  ];
}

/** Allowed values of another type could never match. */
function wrongAllowed({
  type = 'text',
  allowed = [],
}: Pick<VariableDeclaration, 'type' | 'allowed'>): readonly (readonly [string, string])[] {
  return allowed.some((value) => !isOfType(value, type))
    ? [['allowed', `contains a value that is not ${typeWords[type]}`]]
    : [];
}

/**
 * Variables of a spec that was read: only those whose values are resolved at use. The values of
 * all others are already part of the spec.
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
  .meta({ title: 'Variables', description: 'Values that are set when the cluster is applied, by name.' });

/** A variable whose value is resolved when a task is created. */
type BoundVariable =
  | ({ readonly from: string; readonly output: string } & ImportRule)
  | { readonly secret: true; readonly value: Json };

const outputSchema = z
  .union(
    [
      z.string().transform((value) => ({ value }) as { value: Json; secret?: true }),
      z.strictObject({
        value: anyJsonSchema.meta({ title: 'Value', description: 'Text with expressions, or any value.' }),
        secret: z
          .literal(true)
          .exactOptional()
          .meta({ title: 'Secret', description: 'Whether lists of outputs hide the value.' }),
        description: z
          .string()
          .max(1_000)
          .exactOptional()
          .meta({ title: 'Description', description: 'A description for users.' }),
      }),
    ],
    { error: 'must be text or a mapping with value' },
  )
  .meta({ title: 'Output', description: 'Text with expressions, or {value, secret, description}.' });

export const outputsSchema = z
  .record(valueNameSchema, outputSchema)
  .optional()
  .meta({ title: 'Outputs', description: 'Values for users and other clusters, by name.' });
