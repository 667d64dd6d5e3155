import type { Json, JsonObject } from '../model/json.js';
import type { Descriptor, FieldDeclaration, FieldScope } from './descriptor.js';
import { describeCondition } from './field-constraints.js';
import { errorAt, type Path, type Problem } from './problem.js';

type Declared = Pick<Descriptor, 'fields'>;
type Fields = Readonly<Record<string, FieldDeclaration>>;
type Condition = NonNullable<FieldDeclaration['requiredWhen']>[string];

/**
 * Reports missing fields: those of `required`, and those that other fields require. Defaults count as values.
 */
export function missingFields(
  { fields }: Declared,
  scope: FieldScope,
  values: JsonObject,
  path: Path,
): readonly Problem[] {
  if (fields === undefined) return [];
  const all = { ...defaultsOf(fields[scope]), ...values };
  return [...checkRequired(fields.required[scope], all, path), ...checkConditions(fields[scope], all, path)];
}

/** The same requirements as keywords of JSON Schema. */
export function requirementKeywords({ fields }: Declared, scope: FieldScope): object {
  if (fields === undefined) return {};
  // A field with a default is never missing.
  const lacksDefault = (key: string): boolean => fields[scope][key]?.default === undefined;
  const sets = fields.required[scope].map((set) => set.filter(lacksDefault));
  const conditions = conditionalRequirements(fields[scope]);
  return { ...alternatives(sets), ...(conditions.length === 0 ? {} : { allOf: conditions }) };
}

/** All fields of at least one set are required. */
function checkRequired(
  sets: readonly (readonly string[])[],
  values: JsonObject,
  path: Path,
): readonly Problem[] {
  const isThere = (key: string): boolean => isGiven(values[key]);
  if (sets.length === 0 || sets.some((set) => set.every(isThere))) return [];
  const [only, ...more] = sets;
  if (only !== undefined && more.length === 0) {
    return only
      .filter((key) => !isThere(key))
      .map((key) => errorAt([...path, key], 'is missing', `The plugin requires ${only.join(' and ')}.`));
  }
  return [
    errorAt(
      path,
      'fields are missing',
      `The plugin requires ${sets.map((set) => set.join(' and ')).join(', or ')}.`,
    ),
  ];
}

/** Reports missing fields that the values of other fields require. */
function checkConditions(fields: Fields, values: JsonObject, path: Path): readonly Problem[] {
  return Object.entries(fields).flatMap(([key, { requiredWhen }]) => {
    if (requiredWhen === undefined || isGiven(values[key])) return [];
    const holds = Object.entries(requiredWhen).every(([other, condition]) => meets(condition, values[other]));
    return holds
      ? [errorAt([...path, key], 'is missing', `It is required when ${describeCondition(requiredWhen)}.`)]
      : [];
  });
}

function isGiven(value: Json | undefined): boolean {
  return value !== undefined && value !== '' && value !== null;
}

function meets(condition: Condition, value: Json | undefined): boolean {
  return condition === 'given' ? isGiven(value) : condition.some((wanted) => wanted === value);
}

function conditionalRequirements(fields: Fields): readonly object[] {
  return Object.entries(fields).flatMap(([key, { requiredWhen, default: fallback }]) => {
    if (requiredWhen === undefined || fallback !== undefined) return [];
    const conditions = Object.entries(requiredWhen);
    const properties = Object.fromEntries(
      conditions.flatMap(([other, condition]) =>
        condition === 'given' ? [] : [[other, { enum: condition }]],
      ),
    );
    // If a default meets the condition, so does absence.
    const required = conditions.flatMap(([other, condition]) =>
      meets(condition, fields[other]?.default) ? [] : [other],
    );
    return [{ if: { properties, required }, then: { required: [key] } }];
  });
}

function alternatives(sets: readonly (readonly string[])[]): object {
  const [only, ...more] = sets;
  if (only === undefined || sets.some((set) => set.length === 0)) return {};
  return more.length === 0 ? { required: only } : { anyOf: sets.map((set) => ({ required: set })) };
}

function defaultsOf(declared: Readonly<Record<string, FieldDeclaration>>): JsonObject {
  return Object.fromEntries(
    Object.entries(declared).flatMap(([key, { default: fallback }]) =>
      fallback === undefined ? [] : [[key, fallback]],
    ),
  );
}
