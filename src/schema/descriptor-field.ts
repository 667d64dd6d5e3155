import { z } from 'zod';
import { anyJsonSchema } from './any-fields.js';
import { fieldFileKinds } from './named-files.js';

export const fieldTypes = [
  'string',
  'text',
  'url',
  'number',
  'integer',
  'boolean',
  'list',
  'map',
  'duration',
  'select',
  'json',
  'resource',
] as const;
const boundSchema = z.union([z.number(), z.string()], { error: 'A number, or a duration such as "30s".' });

const conditionSchema = z.union(
  [z.literal('given'), z.array(z.union([z.string(), z.number(), z.boolean()])).min(1)],
  { error: 'A list of values, or given.' },
);

/** A field as a descriptor declares it. */
export const fieldSchema = z
  .strictObject({
    title: z.string().min(1).meta({ title: 'Title', description: 'What a form calls the field.' }),
    type: z.enum(fieldTypes).meta({ title: 'Type', description: `One of ${fieldTypes.join(', ')}.` }),
    description: z
      .string()
      .exactOptional()
      .meta({ title: 'Description', description: 'What it is for, in a sentence.' }),
    options: z
      .array(z.string())
      .min(1)
      .exactOptional()
      .meta({ title: 'Options', description: 'The values of a select.' }),
    keys: z
      .string()
      .refine(isPattern, { error: 'is no regular expression' })
      .exactOptional()
      .meta({ title: 'Keys', description: 'For a map: the regular expression that its keys match.' }),
    pattern: z
      .string()
      .min(1)
      .max(1_000)
      .exactOptional()
      .meta({
        title: 'Pattern',
        description: 'For string, text and url: the regular expression (RE2) that the whole value matches.',
      }),
    min: boundSchema
      .exactOptional()
      .meta({ title: 'Minimum', description: 'For number, integer and duration: the least value.' }),
    max: boundSchema
      .exactOptional()
      .meta({ title: 'Maximum', description: 'For number, integer and duration: the greatest value.' }),
    requiredWhen: z
      .record(z.string(), conditionSchema)
      .refine((conditions) => Object.keys(conditions).length > 0, { error: 'names no field' })
      .exactOptional()
      .meta({
        title: 'Required when',
        description:
          'Other fields of the same scope with the values that require this one, or given: {auth: [password], user: given}. All must hold.',
      }),
    default: anyJsonSchema
      .exactOptional()
      .meta({ title: 'Default', description: 'The value where none is given.' }),
    resource: z
      .string()
      .exactOptional()
      .meta({
        title: 'Resource',
        description:
          "Which kind of the plugin's resources it takes; of a string, one will do as well as a text.",
      }),
    content: z
      .enum(['code', 'data'])
      .exactOptional()
      .meta({
        title: 'Content',
        description:
          "For users' fields of automators. data: the plugin never lets anything execute or interpret the value, so expressions may put values of nodes and other clusters there. Default: code.",
      }),
    codeKeys: z
      .string()
      .refine(isPattern, { error: 'is no regular expression' })
      .exactOptional()
      .meta({
        title: 'Code keys',
        description:
          'For a map of data: the regular expression of keys whose values are code all the same, such as ^PATH$.',
      }),
    secret: z
      .boolean()
      .exactOptional()
      .meta({ title: 'Secret', description: 'Masked in forms, redacted in output; users give a reference.' }),
    overridable: z
      .union([z.boolean(), z.literal('listed')], { error: 'true, false or listed.' })
      .exactOptional()
      .meta({
        title: 'Overridable',
        description:
          "An administrator's field that users may set too; listed: only to values that the account lists under allow.",
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
          'For administrators\' fields that name files on workers: file, tree (a folder whose files are run), command (a program, or a list of words), socket (where another program listens), or url (with paths in it); of a list or map by the place within it, where * is any key: {"*.keyFile": file}. Workers refuse files that other users own or may write.',
      }),
    passReferences: z
      .union([z.boolean(), z.literal('inventory')], { error: 'true, false or inventory.' })
      .exactOptional()
      .meta({
        title: 'Pass references',
        description:
          'For administrator fields: references stay unresolved, and the plugin may return them in ssh-auth; inventory: so do those in the inventory file that the field names.',
      }),
  })
  .meta({ title: 'Field', description: 'A field that people fill in: {title, type, …}.' });

function isPattern(text: string): boolean {
  try {
    return new RegExp(text).source !== '';
  } catch {
    return false;
  }
}

export type FieldType = (typeof fieldTypes)[number];
export type FieldDeclaration = z.output<typeof fieldSchema>;
export type FieldScope = 'admin' | 'user';
