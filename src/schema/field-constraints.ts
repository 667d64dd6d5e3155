import { RE2JS } from 're2js';
import { isJsonObject, type Json, type JsonObject } from '../model/json.js';
import { parseDuration } from '../model/duration.js';
import type { FieldDeclaration, FieldScope, ItemDeclaration } from './descriptor-field.js';
import { errorAt, quoteValue, type Path, type Problem } from './problem.js';

type Fields = Readonly<Record<string, FieldDeclaration>>;
type Bound = NonNullable<FieldDeclaration['min']>;
type Limits = Pick<FieldDeclaration | ItemDeclaration, 'type' | 'options' | 'pattern' | 'min' | 'max'>;

/**
 * Reports values that violate `pattern`, `min` or `max`, also in lists and maps; skips references.
 * @param quoted whether messages may contain values of quotable fields.
 */
export function checkConstraints(
  fields: Fields,
  values: JsonObject,
  path: Path,
  { quoted }: { readonly quoted: boolean },
): readonly Problem[] {
  return Object.entries(fields).flatMap(([key, field]) => {
    const value = values[key];
    if (value === undefined) return [];
    return brokenRules(field, value).map(({ at, broken, rule }) => {
      const isShown = quoted && (isQuotable(field) || typeof broken === 'object');
      const shown = field.secret === true ? '(a secret)' : isShown ? quoteValue(broken) : 'its value';
      return errorAt([...path, key, ...at], `${shown} ${rule}`, field.description);
    });
  });
}

/** Whether messages may contain values of the field: no part of them may be a secret. */
export function isQuotable({ type, items, secret, passReferences }: FieldDeclaration): boolean {
  if (secret === true || passReferences === true || type === 'json') return false;
  return (type !== 'list' && type !== 'map') || (items !== undefined && items.type !== 'list');
}

interface BrokenRule {
  readonly at: Path;
  readonly broken: Json;
  readonly rule: string;
}

function brokenRules({ items, ...field }: FieldDeclaration, value: Json): readonly BrokenRule[] {
  const rule = brokenRule(field, value);
  if (rule !== undefined) return [{ at: [], broken: value, rule }];
  if (items === undefined) return [];
  return entriesOf(value).flatMap(([at, item]) => {
    const wrong = brokenRule(items, item);
    return wrong === undefined ? [] : [{ at: [at], broken: item, rule: wrong }];
  });
}

function entriesOf(value: Json): readonly (readonly [string | number, Json])[] {
  if (Array.isArray(value)) return value.map((item: Json, index) => [index, item]);
  return isJsonObject(value) ? Object.entries(value).map(([key, item]) => [key, item ?? null]) : [];
}

function brokenRule(limits: Limits, value: Json): string | undefined {
  const { type, pattern, min, max } = limits;
  if (pattern !== undefined && typeof value === 'string' && !matchesPattern(pattern, value))
    return `does not match ${pattern}`;
  const amount = amountOf(limits, value);
  if (amount === undefined) return undefined;
  const unit = unitOf(type);
  if (min !== undefined && amount < (boundOf(type, min) ?? -Infinity))
    return unit === undefined
      ? `is less than ${min}`
      : amount === 0
        ? 'is empty'
        : `has fewer than ${min} ${unit}`;
  if (max !== undefined && amount > (boundOf(type, max) ?? Infinity))
    return unit === undefined ? `is more than ${max}` : `has more than ${max} ${unit}`;
  return undefined;
}

/** What `min` and `max` limit: a number, a duration in ms, or a number of characters or entries. */
function amountOf({ type }: Limits, value: Json): number | undefined {
  switch (unitOf(type)) {
    case 'characters':
      return typeof value === 'string' ? Array.from(value).length : undefined;
    case 'entries':
      return Array.isArray(value) || (type === 'map' && isJsonObject(value))
        ? Object.keys(value).length
        : undefined;
    default:
      return boundOf(type, value);
  }
}

function boundOf(type: Limits['type'], value: Json): number | undefined {
  if (type === 'duration')
    return typeof value === 'string' || typeof value === 'number' ? parseDuration(value) : undefined;
  return typeof value === 'number' ? value : undefined;
}

function unitOf(type: Limits['type']): 'characters' | 'entries' | undefined {
  if (textTypes.includes(type)) return 'characters';
  return type === 'list' || type === 'map' ? 'entries' : undefined;
}

/**
 * Cache of recently used patterns, the latest at the end. Bounded, because cluster files
 * contain patterns too.
 */
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
export function constraintKeywords({ type, pattern, min, max }: Limits): Record<string, Bound> {
  const [least, most] = boundKeywords[type] ?? [];
  return {
    ...(pattern === undefined ? {} : { pattern: `^(?:${pattern})$` }),
    ...(least !== undefined && min !== undefined ? { [least]: min } : {}),
    ...(most !== undefined && max !== undefined ? { [most]: max } : {}),
  };
}

const lengths = ['minLength', 'maxLength'] as const;
const boundKeywords: Readonly<Partial<Record<Limits['type'], readonly [string, string]>>> = {
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  string: lengths,
  text: lengths,
  url: lengths,
  list: ['minItems', 'maxItems'],
  map: ['minProperties', 'maxProperties'],
};

/** `auth is password or key, and driver is given` */
export function describeCondition(requiredWhen: NonNullable<FieldDeclaration['requiredWhen']>): string {
  return Object.entries(requiredWhen)
    .map(([other, condition]) => `${other} is ${condition === 'given' ? condition : condition.join(' or ')}`)
    .join(', and ');
}

/** `at least 1`, `at most 10 entries`, `matching i-[0-9a-f]+` */
export function describeConstraints({ type, pattern, min, max }: FieldDeclaration): readonly string[] {
  const unit = unitOf(type);
  const amount = (bound: Bound): string => (unit === undefined ? String(bound) : `${bound} ${unit}`);
  return [
    // Nothing typed means no value.
    ...(min === undefined || (unit !== undefined && min === 1) ? [] : [`at least ${amount(min)}`]),
    ...(max === undefined ? [] : [`at most ${amount(max)}`]),
    ...(pattern === undefined ? [] : [`matching ${pattern}`]),
  ];
}

/** Checks the constraints of a descriptor. */
export function checkDeclaredConstraints(scope: FieldScope, fields: Fields): readonly Problem[] {
  return Object.entries(fields).flatMap(([key, field]) => {
    const path = ['fields', scope, key];
    return [
      ...checkLimits(path, field),
      ...checkItems(path, field),
      ...checkDeclaredConditions(path, key, fields),
    ];
  });
}

const textTypes: readonly string[] = ['string', 'text', 'url'];
const amountTypes: readonly string[] = ['number', 'integer', 'duration', ...textTypes, 'list', 'map'];

function checkItems(path: Path, { type, items }: FieldDeclaration): readonly Problem[] {
  if (items === undefined) return [];
  const at = [...path, 'items'];
  return [
    ...(type === 'list' || type === 'map'
      ? []
      : [errorAt(at, `applies only to the types list, map, but the type is ${type}`)]),
    ...checkLimits(at, items),
  ];
}

function checkLimits(path: Path, limits: Limits): readonly Problem[] {
  return [...checkOptions(path, limits), ...checkPattern(path, limits), ...checkBounds(path, limits)];
}

function checkOptions(path: Path, { type, options }: Limits): readonly Problem[] {
  if ((type === 'select') === (options !== undefined)) return [];
  return [
    errorAt(
      path,
      type === 'select'
        ? 'is of type select, which requires options'
        : 'has options, which require type select',
    ),
  ];
}

function checkPattern(path: Path, { type, pattern }: Limits): readonly Problem[] {
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

function checkBounds(path: Path, { type, min, max }: Limits): readonly Problem[] {
  const bounds = Object.entries({ min, max }).flatMap(([name, bound]) =>
    bound === undefined ? [] : [{ name, amount: boundOf(type, bound) }],
  );
  if (bounds.length > 0 && !amountTypes.includes(type))
    return bounds.map(({ name }) =>
      errorAt(
        [...path, name],
        `applies only to the types ${amountTypes.join(', ')}, but the type is ${type}`,
      ),
    );
  const isCount = unitOf(type) !== undefined;
  const wrong = bounds.filter(
    ({ amount }) => amount === undefined || (isCount && !(Number.isInteger(amount) && amount >= 0)),
  );
  const right = type === 'duration' ? 'a duration such as "30s"' : isCount ? 'a whole number' : 'a number';
  if (wrong.length > 0) return wrong.map(({ name }) => errorAt([...path, name], `must be ${right}`));
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
