import { z } from 'zod';
import type { Json } from '../model/json.js';
import { anyJsonSchema } from './any-fields.js';
import type { FieldDeclaration, FieldScope, ItemDeclaration } from './descriptor-field.js';
import { resourceReferenceSchema } from './descriptor-resources.js';
import { durationSchema } from './duration.js';
import { constraintKeywords } from './field-constraints.js';
import { secretReferenceSchema } from './references.js';

/** The schema of a field's value, references included; `checkConstraints` checks its limits. */
export function valueSchemaOf(field: FieldDeclaration, scope: FieldScope): z.ZodType<Json> {
  const base = plainSchemaOf(field, scope);
  if (field.secret !== true && !isText(field.type)) return base;
  if (field.secret === true && scope === 'user') return secretReferenceSchema;
  return z.union(
    [base, secretReferenceSchema, ...(field.resource === undefined ? [] : [resourceReferenceSchema])],
    { error: () => `is not ${kindOf(field)}` },
  );
}

/** The same for a value whose references and expressions are resolved. */
export function resolvedSchemaOf(field: FieldDeclaration): z.ZodType<Json> {
  // A resource is resolved to its path.
  return field.type === 'resource' ? anyJsonSchema : valueSchemaOf(field, 'admin');
}

function plainSchemaOf(field: FieldDeclaration, scope: FieldScope): z.ZodType<Json> {
  switch (field.type) {
    case 'list':
      return z.array(itemSchemaOf(field, scope));
    case 'map':
      return z.record(keySchemaOf(field), itemSchemaOf(field, scope));
    case 'duration':
      return durationSchema;
    case 'json':
      return anyJsonSchema;
    case 'resource':
      return resourceReferenceSchema;
    default:
      return simpleSchemaOf(field.type, field.options);
  }
}

function itemSchemaOf({ items }: FieldDeclaration, scope: FieldScope): z.ZodType<Json> {
  if (items === undefined) return anyJsonSchema;
  const base = items.type === 'list' ? z.array(wordSchema) : simpleSchemaOf(items.type, items.options);
  const more = [
    ...(isText(items.type) ? [secretReferenceSchema] : []),
    // The value of an expression is checked when it is known.
    ...(scope === 'user' && items.type !== 'string' && items.type !== 'text' ? [expressionSchema] : []),
  ];
  const schema =
    more.length === 0 ? base : z.union([base, ...more], { error: () => `is not ${kindOf(items)}` });
  return schema.meta(constraintKeywords(items));
}

/** A word of a command. */
const wordSchema = z.union([z.string(), secretReferenceSchema], { error: () => 'is not text' });

const expressionSchema = z.string().regex(/\$\{\{/);

function simpleSchemaOf(
  type: Exclude<
    (FieldDeclaration | ItemDeclaration)['type'],
    'list' | 'map' | 'duration' | 'json' | 'resource'
  >,
  options: readonly string[] = [],
): z.ZodType<Json> {
  switch (type) {
    case 'string':
      return z
        .string()
        .max(10_000)
        .regex(/^[^\r\n\0]*$/, { error: 'Must be one line of text.' });
    case 'text':
      return z.string();
    case 'url':
      return z
        .string()
        .refine((text) => URL.canParse(text), {
          error: 'is not an address such as https://cloud.example.com',
        });
    case 'number':
      return z.number();
    case 'integer':
      return z.int();
    case 'boolean':
      return z.boolean();
    case 'select':
      return z.enum(options);
    case 'scalar':
      return z.union([z.string(), z.number(), z.boolean()]);
  }
}

/** Whether a value of this type may be a reference to a secret. */
export function isText(type: string): boolean {
  return type === 'string' || type === 'text' || type === 'url';
}

function keySchemaOf({ keys, title }: FieldDeclaration): z.ZodType<string, string> {
  if (keys === undefined) return z.string();
  return z.string().regex(new RegExp(keys), { error: `Keys of ${title} must match ${keys}.` });
}

const kinds: Readonly<Record<(FieldDeclaration | ItemDeclaration)['type'], string>> = {
  string: 'one line of text',
  text: 'text',
  url: 'an address',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  list: 'a list',
  map: 'a mapping',
  duration: 'a duration such as "30s"',
  select: 'an option',
  scalar: 'text, a number, or true or false',
  json: 'a value',
  resource: 'a resource, {resource: NAME}',
};

/** What a value must be, as in "is not one line of text". */
export function kindOf(field: FieldDeclaration | ItemDeclaration): string {
  const { type, options } = field;
  if (type === 'string' && 'resource' in field) return `${kinds.string}, or ${kinds.resource}`;
  return options === undefined ? kinds[type] : `one of ${options.join(', ')}`;
}
