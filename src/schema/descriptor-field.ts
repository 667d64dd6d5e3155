import { z } from 'zod';
import { anyJsonSchema } from './any-fields.js';
import { fieldFileKinds } from './named-files.js';

const plainTypes = ['string', 'text', 'url', 'number', 'integer', 'boolean', 'select'] as const;
export const fieldTypes = [...plainTypes, 'list', 'map', 'duration', 'json', 'resource'] as const;
const boundSchema = z.union([z.number(), z.string()], {
  error: 'must be a number or a duration such as "30s"',
});

/** Types of the values in a list or map. */
const itemTypes = [...plainTypes, 'scalar', 'list'] as const;

const conditionSchema = z.union(
  [z.literal('given'), z.array(z.union([z.string(), z.number(), z.boolean()])).min(1)],
  { error: 'must be a list of values, or given' },
);

/** Keys that limit the values of a field, and of the entries of a list or map. */
const limitSchemas = {
  options: z
    .array(z.string())
    .min(1)
    .exactOptional()
    .meta({ title: 'Options', description: 'The values of a select.' }),
  pattern: z
    .string()
    .min(1)
    .max(1_000)
    .exactOptional()
    .meta({
      title: 'Pattern',
      description: 'For string, text and url: the regular expression (RE2) that the whole value must match.',
    }),
  min: boundSchema
    .exactOptional()
    .meta({
      title: 'Minimum',
      description:
        'The minimum value of a number, integer or duration, the fewest characters of a string, text or url, or the fewest entries of a list or map.',
    }),
  max: boundSchema
    .exactOptional()
    .meta({
      title: 'Maximum',
      description:
        'The maximum value of a number, integer or duration, the most characters of a string, text or url, or the most entries of a list or map.',
    }),
};

const itemSchema = z
  .strictObject({
    type: z
      .enum(itemTypes)
      .meta({
        title: 'Type',
        description: `One of ${itemTypes.join(', ')}. scalar: text, a number, or true or false; list: a list of text or references.`,
      }),
    ...limitSchemas,
  })
  .meta({ title: 'Items', description: 'For list and map: what each entry must be. Default: any value.' });

/** A field as a descriptor declares it. */
export const fieldSchema = z
  .strictObject({
    title: z.string().min(1).meta({ title: 'Title', description: 'Name of the field in forms.' }),
    type: z.enum(fieldTypes).meta({ title: 'Type', description: `One of ${fieldTypes.join(', ')}.` }),
    description: z
      .string()
      .exactOptional()
      .meta({ title: 'Description', description: 'Purpose of the field, in one sentence.' }),
    ...limitSchemas,
    items: itemSchema.exactOptional(),
    keys: z
      .string()
      .refine(isPattern, { error: 'is not a valid regular expression' })
      .exactOptional()
      .meta({ title: 'Keys', description: 'For map: the regular expression that keys must match.' }),
    requiredWhen: z
      .record(z.string(), conditionSchema)
      .refine((conditions) => Object.keys(conditions).length > 0, { error: 'must name at least one field' })
      .exactOptional()
      .meta({
        title: 'Required when',
        description:
          'Conditions on other fields of the same scope that make this one required, as lists of values or given: {auth: [password], user: given}. All conditions must be met.',
      }),
    default: anyJsonSchema.exactOptional().meta({ title: 'Default', description: 'The default value.' }),
    resource: z
      .string()
      .exactOptional()
      .meta({
        title: 'Resource',
        description:
          "The kind of the plugin's resources that the field accepts. A field of type string also accepts text.",
      }),
    content: z
      .enum(['code', 'data'])
      .exactOptional()
      .meta({
        title: 'Content',
        default: 'code',
        description:
          "For users' fields of automators. data: the value is never executed or interpreted, so expressions may insert values of nodes and other clusters.",
      }),
    codeKeys: z
      .string()
      .refine(isPattern, { error: 'is not a valid regular expression' })
      .exactOptional()
      .meta({
        title: 'Code keys',
        description:
          'For a map with content: data: the regular expression of keys whose values are nevertheless code, such as ^PATH$.',
      }),
    secret: z
      .boolean()
      .exactOptional()
      .meta({
        title: 'Secret',
        description:
          'Whether to mask the value in forms and redact it in output. Users must set a reference.',
      }),
    overridable: z
      .union([z.boolean(), z.literal('listed')], { error: 'must be true, false or listed' })
      .exactOptional()
      .meta({
        title: 'Overridable',
        description:
          "Whether users may set this administrators' field. listed: only to values that the account lists under allow.",
      }),
    files: z
      .union([
        z.enum(fieldFileKinds),
        z.record(z.string().regex(/^[\w*-]+(\.[\w*-]+)*$/), z.enum(fieldFileKinds)),
      ])
      .exactOptional()
      .meta({
        title: 'Files',
        description:
          'For administrators\' fields that name files on workers: file, tree (a folder whose files are executed), command (a program, or a list of a program and its arguments), socket (of another program), or url (that contains paths). For a list or map, by path within it, where * matches any key: {"*.keyFile": file}. Workers refuse files that other users own or can write.',
      }),
    passReferences: z
      .union([z.boolean(), z.literal('inventory')], { error: 'must be true, false or inventory' })
      .exactOptional()
      .meta({
        title: 'Pass references',
        description:
          "For administrators' fields: leaves references unresolved, so that the plugin may return them in ssh-auth. inventory: also those in the inventory file that the field names.",
      }),
  })
  .meta({ title: 'Field', description: 'A field of the plugin: {title, type, …}.' });

function isPattern(text: string): boolean {
  try {
    return new RegExp(text).source !== '';
  } catch {
    return false;
  }
}

export type FieldType = (typeof fieldTypes)[number];
export type ItemDeclaration = z.output<typeof itemSchema>;
export type FieldDeclaration = z.output<typeof fieldSchema>;
export type FieldScope = 'admin' | 'user';
