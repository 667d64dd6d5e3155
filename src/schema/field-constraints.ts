import { RE2JS } from 're2js';
import type { Json, JsonObject } from '../model/json.js';
import { parseDuration } from '../model/duration.js';
import type { FieldDeclaration, FieldScope } from './descriptor-field.js';
import { errorAt, quoteValue, type Path, type Problem } from './problem.js';

type Fields = Readonly<Record<string, FieldDeclaration>>;
type Bound = NonNullable<FieldDeclaration['min']>;

/**
 * Reports values that violate `pattern`, `min` or `max`; skips references.
 * @param quoted whether messages may contain values that the descriptor does not declare secret.
 */
export function checkConstraints(
  fields: Fields,
  values: JsonObject,
  path: Path,
  { quoted }: { readonly quoted: boolean },
): readonly Problem[] {
  return Object.entries(fields).flatMap(([key, field]) => {
    const value = values[key];
    const rule = value === undefined ? undefined : brokenRule(field, value);
    if (rule === undefined) return [];
    const shown = field.secret === true ? '(a secret)' : quoted ? quoteValue(value) : 'its value';
    return [errorAt([...path, key], `${shown} ${rule}`, field.description)];
  });
}

function brokenRule(field: FieldDeclaration, value: Json): string | undefined {
  const { pattern, min, max } = field;
  if (pattern !== undefined && typeof value === 'string' && !matchesPattern(pattern, value))
    return `does not match ${pattern}`;
  const amount = amountOf(field, value);
  if (amount === undefined) return undefined;
  if (min !== undefined && amount < (amountOf(field, min) ?? -Infinity)) return `is less than ${min}`;
  return max !== undefined && amount > (amountOf(field, max) ?? Infinity) ? `is more than ${max}` : undefined;
}

/** A number, or a duration in ms. */
function amountOf({ type }: FieldDeclaration, value: Json): number | undefined {
  if (type === 'duration')
    return typeof value === 'string' || typeof value === 'number' ? parseDuration(value) : undefined;
  return typeof value === 'number' ? value : undefined;
}

/** Cache of recently used patterns, the latest at the end. Bounded, because cluster files contain patterns too. */
const compiled = new Map<string, RE2JS>();
const mostCompiled = 200;

/** Whether the whole text matches, in time linear in its length: no pattern can stall a worker. */
export function matchesPattern(pattern: string, text: string): boolean {
  const known = compiled.get(pattern) ?? RE2JS.compile(pattern);
  compiled.delete(pattern);
  compiled.set(pattern, known);
  const [oldest] = compiled.keys();
  if (compiled.size > mostCompiled && oldest !== undefined) compiled.delete(oldest);
  return known.matches(text);
}

/** Why a text cannot be a `pattern`; undefined if it can. */
export function patternFault(pattern: string): string | undefined {
  try {
    // JSON Schema and editors interpret the pattern as JavaScript does.
    void new RegExp(pattern, 'u');
  } catch {
    return 'is not a valid regular expression';
  }
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch {
    return 'uses syntax that RE2 does not support, such as (?=, (?! or \\1';
  }
}

/** The constraints as keywords of JSON Schema, which cannot compare durations. */
export function constraintKeywords({ type, pattern, min, max }: FieldDeclaration): Record<string, Bound> {
  const isNumber = type === 'number' || type === 'integer';
  return {
    ...(pattern === undefined ? {} : { pattern: `^(?:${pattern})$` }),
    ...(isNumber && min !== undefined ? { minimum: min } : {}),
    ...(isNumber && max !== undefined ? { maximum: max } : {}),
  };
}

/** `auth is password or key, and driver is given` */
export function describeCondition(requiredWhen: NonNullable<FieldDeclaration['requiredWhen']>): string {
  return Object.entries(requiredWhen)
    .map(([other, condition]) => `${other} is ${condition === 'given' ? condition : condition.join(' or ')}`)
    .join(', and ');
}

/** `at least 1`, `at most 10`, `matching i-[0-9a-f]+` */
export function describeConstraints({ pattern, min, max }: FieldDeclaration): readonly string[] {
  return [
    ...(min === undefined ? [] : [`at least ${min}`]),
    ...(max === undefined ? [] : [`at most ${max}`]),
    ...(pattern === undefined ? [] : [`matching ${pattern}`]),
  ];
}

/** Checks the constraints of a descriptor. */
export function checkDeclaredConstraints(scope: FieldScope, fields: Fields): readonly Problem[] {
  return Object.entries(fields).flatMap(([key, field]) => {
    const path = ['fields', scope, key];
    return [
      ...checkPattern(path, field),
      ...checkBounds(path, field),
      ...checkDeclaredConditions(path, key, fields),
    ];
  });
}

const textTypes: readonly string[] = ['string', 'text', 'url'];
const amountTypes: readonly string[] = ['number', 'integer', 'duration'];

function checkPattern(path: Path, { type, pattern }: FieldDeclaration): readonly Problem[] {
  if (pattern === undefined) return [];
  if (!textTypes.includes(type))
    return [
      errorAt(
        [...path, 'pattern'],
        `applies only to the types ${textTypes.join(', ')}, but the type is ${type}`,
      ),
    ];
  const fault = patternFault(pattern);
  return fault === undefined ? [] : [errorAt([...path, 'pattern'], fault)];
}

function checkBounds(path: Path, field: FieldDeclaration): readonly Problem[] {
  const { type, min, max } = field;
  const bounds = Object.entries({ min, max }).flatMap(([name, bound]) =>
    bound === undefined ? [] : [{ name, amount: amountOf(field, bound) }],
  );
  if (bounds.length > 0 && !amountTypes.includes(type))
    return bounds.map(({ name }) =>
      errorAt(
        [...path, name],
        `applies only to the types ${amountTypes.join(', ')}, but the type is ${type}`,
      ),
    );
  const wrong = bounds.filter(({ amount }) => amount === undefined);
  if (wrong.length > 0)
    return wrong.map(({ name }) =>
      errorAt([...path, name], type === 'duration' ? 'must be a duration such as "30s"' : 'must be a number'),
    );
  const [least, most] = bounds.map(({ amount }) => amount ?? 0);
  return least !== undefined && most !== undefined && least > most
    ? [errorAt([...path, 'min'], `${min} is more than max, ${max}`)]
    : [];
}

function checkDeclaredConditions(path: Path, key: string, fields: Fields): readonly Problem[] {
  return Object.entries(fields[key]?.requiredWhen ?? {}).flatMap(([other, condition]) => {
    const at = [...path, 'requiredWhen', other];
    const named = other === key || !Object.hasOwn(fields, other) ? undefined : fields[other];
    if (named === undefined)
      return [
        errorAt(at, 'is not another field of the same scope', `Fields: ${Object.keys(fields).join(', ')}.`),
      ];
    if (condition === 'given')
      return named.default === undefined
        ? []
        : [errorAt(at, 'is always met, because the field has a default')];
    return condition
      .filter((value) => !isValueOf(named, value))
      .map((value) =>
        errorAt(at, `${quoteValue(value)} is not a value of the field, whose type is ${named.type}`),
      );
  });
}

function isValueOf({ type, options }: FieldDeclaration, value: Json): boolean {
  if (type === 'select') return options?.some((option) => option === value) === true;
  if (type === 'boolean') return typeof value === 'boolean';
  if (type === 'number' || type === 'integer') return typeof value === 'number';
  return textTypes.includes(type) && typeof value === 'string';
}
