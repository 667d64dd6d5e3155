import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import { isOneExpression, textsIn } from '../model/expression/parse.js';
import { isUnprotected } from '../model/endpoint.js';
import { stableJson } from '../model/node/payload.js';
import { findReferences, isSecretReference } from '../model/secret-reference.js';
import type { Descriptor, FieldDeclaration, FieldScope } from './descriptor.js';
import { checkConstraints, constraintKeywords, isQuotable } from './field-constraints.js';
import { kindOf, resolvedSchemaOf, valueSchemaOf } from './field-values.js';
import { missingFields, requirementKeywords } from './missing-fields.js';
import { errorAt, hasErrors, quoteValue, type Path, type Problem } from './problem.js';
import { isValidReference, referenceRule } from './references.js';
import { problemsFromZod } from './zod-problems.js';

export interface CheckedFields {
  readonly problems: readonly Problem[];
  /** The values with defaults filled in. */
  readonly values: JsonObject;
}

type Declared = Pick<Descriptor, 'fields' | 'rules'>;

/**
 * Values that users may give to fields with `overridable: listed`, by field: `allow` of a provider account.
 */
export type AllowedValues = Readonly<Record<string, readonly Json[]>>;

/**
 * Checks values against the declared fields of a plugin, and that no required field is missing.
 * Users may also set overridable fields of administrators; `allowed` are the values that the
 * account allows for `listed` ones, and `any` skips that check. `path` is the path of the
 * values. A plugin without declarations accepts all fields.
 */
export function checkFields(
  plugin: Declared,
  scope: FieldScope,
  values: JsonObject,
  path: Path,
  allowed: AllowedValues | 'any' = {},
): CheckedFields {
  const given = checkGiven(plugin, scope, values, path, allowed);
  // An unknown key may be a misspelled required one.
  const isKnown = Object.keys(values).every((key) => Object.hasOwn(fieldsSchemaOf(plugin, scope).shape, key));
  const missing = isKnown ? missingFields(plugin, scope, values, path) : [];
  const problems = [...given.problems, ...missing];
  return {
    ...given,
    problems: problems.length > 0 || scope === 'user' ? problems : checkRules(plugin, given.values, path),
  };
}

/** Checks the fields of a user together with those of the account. */
export function checkUserFields(
  plugin: Declared,
  account: { readonly fields: JsonObject; readonly allow?: AllowedValues },
  values: JsonObject,
  path: Path,
): readonly Problem[] {
  const { problems, values: filled } = checkFields(plugin, 'user', values, path, account.allow);
  // The values of expressions are known only when a task is created.
  if (problems.length > 0 || textsIn(values).length > 0) return problems;
  // Faults of the account itself are not the user's.
  if (checkRules(plugin, account.fields, []).length > 0) return [];
  return checkRules(plugin, { ...account.fields, ...filled }, path);
}

function checkRules({ rules, fields }: Declared, values: JsonObject, path: Path): readonly Problem[] {
  const declared = { ...fields?.admin, ...fields?.user };
  return (rules?.(values) ?? []).flatMap(({ path: at, wrong }) => {
    const field = declared[at[0] ?? ''];
    // A reference that is passed on is not resolved, so the plugin uses it as it is.
    return field?.passReferences !== true && isInReference(values, at)
      ? []
      : [errorAt([...path, ...at], wrong, field?.description)];
  });
}

/** Whether the place is a reference or within one: its value is checked when it is resolved. */
function isInReference(values: Json, path: Path): boolean {
  let value: Json | undefined = values;
  for (const part of path) {
    if (isSecretReference(value)) return true;
    value = (value as Readonly<Record<string | number, Json>> | null | undefined)?.[part];
  }
  return isSecretReference(value);
}

/** The same for incomplete values: does not report missing fields. */
export function checkGiven(
  plugin: Declared,
  scope: FieldScope,
  values: JsonObject,
  path: Path,
  allowed: AllowedValues | 'any' = {},
): CheckedFields {
  const invalid = invalidReferences(values);
  if (plugin.fields === undefined) return { problems: below(path, invalid), values };
  const schema = fieldsSchemaOf(plugin, scope);
  const declared = declaredFor(plugin.fields, scope);
  // The value of an expression is known only when a task is created.
  const [open, known] = splitEntries(
    values,
    (value, key) => scope === 'user' && Object.hasOwn(declared, key) && isOneExpression(value),
  );
  const [, literal] = splitEntries(known, (value) => scope === 'user' && textsIn(value).length > 0);
  const parsed = schema.safeParse(known);
  if (!parsed.success) {
    const wrong = problemsFromZod(schema, parsed.error, values, ([key = '']) => {
      const field = Object.hasOwn(declared, key) ? declared[key] : undefined;
      return field !== undefined && (field.secret === true || isQuotable(field));
    });
    const faulty = wrong.map((problem) => problem.path[0]);
    const [, rest] = splitEntries(literal, (_, key) => faulty.includes(key));
    return {
      problems: [
        ...below(path, [
          ...invalid,
          ...wrong.filter(({ path: at }) => !invalid.some((other) => isWithin(at, other.path))),
        ]),
        ...checkConstraints(declared, rest, path, { quoted: true }),
      ],
      values,
    };
  }
  const filled: JsonObject = {
    ...Object.fromEntries(
      Object.entries(parsed.data).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
    ),
    ...open,
  };
  const unlisted =
    scope === 'user' && allowed !== 'any' ? checkListed(plugin.fields.admin, filled, path, allowed) : [];
  return {
    problems: [
      ...below(path, invalid),
      ...checkConstraints(declared, literal, path, { quoted: true }),
      ...unlisted,
      ...checkEndpoints(plugin, filled, path),
    ],
    values: filled,
  };
}

/** References without a known scheme, which may contain the secret itself. */
function invalidReferences(values: JsonObject): readonly Problem[] {
  return Object.entries(values).flatMap(([key, value]) =>
    findReferences(value).flatMap(({ reference, path }) =>
      isValidReference({ secret: reference }) || textsIn({ reference }).length > 0
        ? []
        : [errorAt([key, ...path], 'is not a valid reference', referenceRule)],
    ),
  );
}

function isWithin(path: Path, place: Path): boolean {
  return place.every((part, index) => path[index] === part);
}

function below(path: Path, problems: readonly Problem[]): readonly Problem[] {
  return problems.map((problem) => ({ ...problem, path: [...path, ...problem.path] }));
}

function splitEntries(
  values: JsonObject,
  isFirst: (value: Json, key: string) => boolean,
): readonly [JsonObject, JsonObject] {
  const entries = Object.entries(values);
  return [
    Object.fromEntries(entries.filter(([key, value]) => isFirst(value, key))),
    Object.fromEntries(entries.filter(([key, value]) => !isFirst(value, key))),
  ];
}

/**
 * Reports addresses to which credentials would be sent unencrypted over the network. References
 * are checked when they are resolved.
 */
function checkEndpoints({ fields }: Declared, values: JsonObject, path: Path): readonly Problem[] {
  if (values['insecure'] === true) return [];
  return Object.entries({ ...fields?.admin, ...fields?.user }).flatMap(([key, { type }]) => {
    const value = values[key];
    if (type !== 'url' || typeof value !== 'string' || !isUnprotected(value)) return [];
    return [
      errorAt(
        [...path, key],
        'is an unencrypted address of another machine',
        `Use ${protectedForms(value)}, or set \`insecure: true\`.`,
      ),
    ];
  });
}

/** The encrypted forms of an unencrypted address. */
function protectedForms(address: string): string {
  const [, tunnelled] = /^\s*([a-z]+)\+tcp:/i.exec(address) ?? [];
  return tunnelled === undefined ? 'https://' : `${tunnelled}+tls:// or ${tunnelled}+ssh://`;
}

/**
 * Checks values whose references and expressions are resolved, which is not possible earlier.
 * Messages do not quote values, which may be secret.
 */
export function checkResolved(
  plugin: Declared,
  scopes: readonly FieldScope[],
  values: JsonObject,
  path: Path,
): readonly Problem[] {
  const declared = Object.assign({}, ...scopes.map((scope) => plugin.fields?.[scope])) as Record<
    string,
    FieldDeclaration
  >;
  const problems = [
    ...checkKinds(declared, values, path),
    ...checkConstraints(declared, values, path, { quoted: false }),
    ...checkEndpoints(plugin, values, path),
  ];
  return problems.length > 0 ? problems : checkRules(plugin, values, path);
}

function checkKinds(
  declared: Readonly<Record<string, FieldDeclaration>>,
  values: JsonObject,
  path: Path,
): readonly Problem[] {
  return Object.entries(declared).flatMap(([key, field]) => {
    const parsed = values[key] === undefined ? undefined : resolvedSchemaOf(field).safeParse(values[key]);
    const [issue] = parsed?.error?.issues ?? [];
    if (issue === undefined) return [];
    const inside = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
    const kind = kindOf(inside.length === 0 ? field : (field.items ?? field));
    return [errorAt([...path, key, ...inside], `its value is not ${kind}`, field.description)];
  });
}

/** The names of fields whose values the administrator of an account lists for users. */
export function listedFields({ fields }: Declared): readonly string[] {
  return Object.entries(fields?.admin ?? {}).flatMap(([key, { overridable }]) =>
    overridable === 'listed' ? [key] : [],
  );
}

function checkListed(
  admin: Readonly<Record<string, FieldDeclaration>>,
  values: JsonObject,
  path: Path,
  allowed: AllowedValues,
): readonly Problem[] {
  return listedFields({ fields: { admin, user: {}, required: { admin: [], user: [] } } }).flatMap((key) => {
    const listed = (allowed[key] ?? []).map(stableJson);
    const missing = partsOf(values[key], admin[key]?.type).filter(
      (value) => !listed.includes(stableJson(value)),
    );
    if (missing.length === 0) return [];
    return [
      errorAt(
        [...path, key],
        'has a value that the administrator does not allow in cluster files',
        `In heddle.yaml of the workers, \`allow: {${key}: [...]}\` of the provider account must list ${missing.map(quoteValue).join(', ')}.`,
      ),
    ];
  });
}

/** Each item of a list and each value of a map is listed separately. */
function partsOf(value: Json | undefined, type: FieldDeclaration['type'] | undefined): readonly Json[] {
  if (value === undefined) return [];
  if (type === 'list' && Array.isArray(value)) return value as readonly Json[];
  return type === 'map' && isJsonObject(value) ? Object.values(value).flatMap((item) => item ?? []) : [value];
}

type FieldsSchema = z.ZodObject<Record<string, z.ZodType<Json | undefined>>>;

/** Cache of schemas by descriptor: building one takes longer than validating a value. */
const builtSchemas = new WeakMap<object, Partial<Record<FieldScope, FieldsSchema>>>();

/** The schema of one scope's fields: for checks here, and as JSON Schema for forms and editors. */
function fieldsSchemaOf({ fields }: Declared, scope: FieldScope): FieldsSchema {
  const key = fields ?? {};
  const built = builtSchemas.get(key) ?? {};
  builtSchemas.set(key, built);
  return (built[scope] ??= buildFieldsSchema(fields, scope));
}

function buildFieldsSchema(fields: Declared['fields'], scope: FieldScope): FieldsSchema {
  const declared = fields === undefined ? [] : Object.entries(declaredFor(fields, scope));
  return z.strictObject(
    Object.fromEntries(declared.map(([key, field]) => [key, fieldSchemaOf(field, scope)])),
  );
}

/** The fields of one scope. For users, overridable fields of administrators come first. */
function declaredFor(
  fields: NonNullable<Declared['fields']>,
  scope: FieldScope,
): Readonly<Record<string, FieldDeclaration>> {
  const overridable = Object.entries(fields.admin)
    .filter(([, field]) => scope === 'user' && (field.overridable ?? false) !== false)
    // If the user sets no value, the administrator's applies: a default here would override it.
    .map(([key, { default: _default, ...field }]) => [key, field] as const);
  return Object.fromEntries([...overridable, ...Object.entries(fields[scope])]);
}

/** JSON Schema (draft 2020-12) of one scope's fields as users write them; as strict as `checkFields`. */
export function fieldsJsonSchema(plugin: Declared, scope: FieldScope): object {
  const schema = plugin.fields === undefined ? z.looseObject({}) : fieldsSchemaOf(plugin, scope);
  return {
    ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
    ...requirementKeywords(plugin, scope),
  };
}

function fieldSchemaOf(field: FieldDeclaration, scope: FieldScope): z.ZodType<Json | undefined> {
  const described = valueSchemaOf(field, scope).meta({
    title: field.title,
    description: rightFor(field, scope),
    ...constraintKeywords(field),
    ...(field.secret === true ? { writeOnly: true } : {}),
  });
  return field.default === undefined ? described.optional() : described.default(field.default);
}

function rightFor(field: FieldDeclaration, scope: FieldScope): string {
  const what = (field.description ?? field.title).replace(/\.$/, '');
  if (field.secret !== true) return `${what}: ${kindOf(field)}.`;
  return scope === 'user'
    ? `${what}: a reference such as {secret: "env:NAME"}.`
    : `${what}: ${kindOf(field)}, preferably as a reference: {secret: "env:NAME"}.`;
}

/** Checks that defaults are valid values of their fields. */
export function checkDefaults(plugin: Declared): readonly Problem[] {
  const scopes = ['admin', 'user'] as const;
  return scopes.flatMap((scope) =>
    Object.entries(plugin.fields?.[scope] ?? {}).flatMap(([key, field]) => {
      if (field.default === undefined) return [];
      const declared = {
        fields: { admin: {}, user: {}, required: { admin: [], user: [] }, [scope]: { [key]: field } },
      };
      const { problems } = checkFields(declared, scope, { [key]: field.default }, []);
      return hasErrors(problems)
        ? [
            errorAt(
              ['fields', scope, key, 'default'],
              'is not a valid value of the field',
              rightFor(field, scope),
            ),
          ]
        : [];
    }),
  );
}
