import type { JsonObject } from '../../model/json.js';
import type { Descriptor, FieldDeclaration } from '../../schema/descriptor.js';
import { checkFields, checkGiven } from '../../schema/fields.js';
import { simpleNameSchema } from '../../schema/names.js';
import { errorAt, type Path, type Problem } from '../../schema/problem.js';
import { suggest } from '../../schema/suggest.js';
import { isPlainSecret } from './field-text.js';
import type { Workspace } from './workspace.js';

/** An account before it is checked; holds plain secrets. */
export interface AccountDraft {
  readonly name: string;
  readonly type: string;
  readonly site?: string;
  readonly fields: JsonObject;
}

/**
 * All problems of a draft, by `name`, `type`, `site`, `fields.<key>`; `fields` for a problem of several
 * fields.
 */
export function checkDraft(
  { descriptors }: Pick<Workspace, 'descriptors'>,
  { name, type, site, fields }: AccountDraft,
): readonly Problem[] {
  const descriptor = descriptors.find((one) => one.name === type);
  return [
    ...checkName(['name'], name),
    ...(site === undefined ? [] : checkName(['site'], site)),
    ...(descriptor === undefined ? [noType(type, descriptors)] : checkValues(descriptor, fields)),
  ];
}

/** All problems of the fields of an account or automator, by `fields.<key>`. */
export function checkValues(descriptor: Descriptor, fields: JsonObject): readonly Problem[] {
  return [
    ...checkFields(descriptor, 'admin', fields, ['fields']).problems,
    ...checkSecrets(descriptor, fields),
  ];
}

/**
 * The problem with the value of one field, regardless of the others, except that `insecure: true` allows
 * unencrypted addresses.
 */
export function checkField(
  key: string,
  field: FieldDeclaration,
  value: JsonObject[string],
  { insecure = false }: JsonObject,
): readonly Problem[] {
  const alone = {
    fields: {
      admin: { insecure: { title: 'Insecure', type: 'boolean' as const }, [key]: field },
      user: {},
      required: { admin: [], user: [] },
    },
  };
  const values = { insecure, [key]: value };
  return [...checkGiven(alone, 'admin', values, []).problems, ...checkSecrets(alone, values)];
}

/** The problems of an incomplete set of values. */
export function checkSome(descriptor: Descriptor, fields: JsonObject): readonly Problem[] {
  if (descriptor.fields === undefined) return [];
  return [
    ...checkGiven(descriptor, 'admin', fields, ['fields']).problems,
    ...checkSecrets(descriptor, fields),
  ];
}

export function declaredFields({
  fields,
}: Pick<Descriptor, 'fields'>): readonly (readonly [string, FieldDeclaration])[] {
  return Object.entries(fields?.admin ?? {});
}

/** The longest file that a worker reads. */
const longestSecret = 64 * 1024 - 1;

function checkName(path: Path, name: string): readonly Problem[] {
  const parsed = simpleNameSchema.safeParse(name);
  return parsed.success
    ? []
    : [errorAt(path, `${JSON.stringify(name)} is not a valid name`, parsed.error.issues[0]?.message)];
}

function noType(type: string, descriptors: readonly Descriptor[]): Problem {
  return errorAt(
    ['type'],
    `provider plugin ${JSON.stringify(type)} does not exist`,
    suggest(
      type,
      descriptors.map(({ name }) => name),
    ),
  );
}

/** Secrets are stored in files, so they must be text. */
function checkSecrets(descriptor: Pick<Descriptor, 'fields'>, fields: JsonObject): readonly Problem[] {
  return declaredFields(descriptor).flatMap(([key, field]) => {
    const value = fields[key];
    if (!isPlainSecret(field, value)) return [];
    if (typeof value !== 'string')
      return [
        errorAt(
          ['fields', key],
          'is a secret that is not text, so it cannot be stored',
          'Write it into heddle.yaml by hand.',
        ),
      ];
    if (Buffer.byteLength(value) > longestSecret)
      return [errorAt(['fields', key], `has more than ${longestSecret} bytes`)];
    return [];
  });
}
