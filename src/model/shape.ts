import { jsonBytes } from './carried.js';
import { isForbiddenKey, type Json, type JsonObject } from './json.js';

/**
 * Checks the shape of a value from outside. Returns the problem as a sentence that begins with the place and
 * never repeats the value, or undefined. Plain functions: the workflow bundle has no schema library.
 */
export interface Shape<out Value = unknown> {
  (value: unknown, at: string): string | undefined;
  /** The type of what passes; never present. */
  readonly passes?: Value;
}

export type Fields = Readonly<Record<string, Shape>>;

/** The type of what a shape lets pass. */
export type ValueOf<Of extends Shape> = Of extends Shape<infer Value> ? Value : never;

/** The shape of a field that may be absent. */
export interface Optional<out Value> extends Shape<Value | undefined> {
  readonly isOptional: true;
}

/** The type of an object with these fields. */
export type ValuesOf<Of extends Fields> = {
  readonly [Key in keyof Of as Of[Key] extends Optional<unknown> ? never : Key]: ValueOf<Of[Key]>;
} & {
  readonly [Key in keyof Of as Of[Key] extends Optional<unknown> ? Key : never]?: ValueOf<Of[Key]>;
};

/**
 * A shape that checks less than the type says: what comes from workflows of ours, or what a handler checks.
 */
export function typed<Value>(shape: Shape): Shape<Value> {
  return shape as Shape<Value>;
}

const deepest = 64;

export const flag = when<boolean>('true or false', (value) => typeof value === 'boolean');

/** A flag that is left out rather than false. */
export const yes = when<true>('true, or left out', (value) => value === true);

/** Not checked any further: it comes from one of our workflows, or the handler checks it. */
export const anything: Shape = (value, at) => (value === undefined ? wrong(at, 'given', value) : undefined);

export function text(longest: number, shortest = 1): Shape<string> {
  return when(
    shortest === 0 ? `text of at most ${longest} characters` : `text of ${shortest} to ${longest} characters`,
    (value) => typeof value === 'string' && value.length >= shortest && value.length <= longest,
  );
}

/** A time of RFC 3339. */
export function time(): Shape<string> {
  return when(
    'a time (RFC 3339)',
    (value) => typeof value === 'string' && value.length <= 40 && !Number.isNaN(Date.parse(value)),
  );
}

/** A text that names an entry of a plain object, so it must not be a name that every object inherits. */
export function id(longest = 200): Shape<string> {
  return when(
    `a name of 1 to ${longest} characters`,
    (value) =>
      typeof value === 'string' && value !== '' && value.length <= longest && !(value in Object.prototype),
  );
}

export function number(least: number, most: number): Shape<number> {
  return when(
    `a number from ${least} to ${most}`,
    (value) => typeof value === 'number' && value >= least && value <= most,
  );
}

export function count(most = Number.MAX_SAFE_INTEGER, least = 0): Shape<number> {
  return when(
    `a whole number from ${least} to ${most}`,
    (value) => typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most,
  );
}

export function oneOf<const Word extends string | null>(...words: readonly Word[]): Shape<Word> {
  return when<Word>(`one of ${words.join(', ')}`, (value) => words.some((word) => word === value));
}

export function optional<Value>(shape: Shape<Value>): Optional<Value> {
  const check: Shape<Value | undefined> = (value, at) => (value === undefined ? undefined : shape(value, at));
  return Object.assign(check, { isOptional: true } as const);
}

export function nullable<Value>(shape: Shape<Value>): Shape<Value | null> {
  return (value, at) => (value === null ? undefined : shape(value, at));
}

export function list<Value>(shape: Shape<Value>, most: number, least = 0): Shape<readonly Value[]> {
  const isList = when<unknown[]>(
    `a list of ${least} to ${most} entries`,
    (value) => Array.isArray(value) && value.length >= least && value.length <= most,
  );
  return (value, at) =>
    isList(value, at) ??
    firstWrong((value as readonly unknown[]).entries(), ([index, entry]) => shape(entry, `${at}[${index}]`));
}

/** An object with these fields and no others. */
export function object<const Of extends Fields>(fields: Of): Shape<ValuesOf<Of>> {
  const known = outline(fields);
  return (value, at) =>
    known(value, at) ??
    firstWrong(Object.keys(value as object), (key) =>
      Object.hasOwn(fields, key) ? undefined : `${within(at, shorten(key))}: is not a field of this message`,
    );
}

/** An object with at least these fields, whose others are not checked. */
export function outline<const Of extends Fields>(fields: Of): Shape<ValuesOf<Of>> {
  const entries = Object.entries(fields);
  return (value, at) =>
    plainObject(value, at) ??
    firstWrong(entries, ([key, shape]) =>
      shape(
        Object.hasOwn(value as object, key) ? (value as Readonly<Record<string, unknown>>)[key] : undefined,
        within(at, key),
      ),
    );
}

/** An object with keys of the sender's choice. */
export function record<Value>(shape: Shape<Value>, most: number): Shape<Readonly<Record<string, Value>>> {
  const fits = when(
    `an object of at most ${most} entries`,
    (value) => Object.keys(value as object).length <= most,
  );
  return (value, at) =>
    plainObject(value, at) ??
    fits(value, at) ??
    firstWrong(Object.entries(value as object), ([key, entry]: [string, unknown]) =>
      shape(entry, within(at, shorten(key))),
    );
}

type VariantsOf<Key extends string, Kinds extends Readonly<Record<string, Fields>>> = {
  readonly [Kind in keyof Kinds]: { readonly [Name in Key]: Kind } & ValuesOf<Kinds[Kind]>;
}[keyof Kinds];

/** An object whose field `key` determines its other fields. */
export function variants<const Key extends string, const Kinds extends Readonly<Record<string, Fields>>>(
  key: Key,
  kinds: Kinds,
  shapeOf: (fields: Fields) => Shape = object,
): Shape<VariantsOf<Key, Kinds>> {
  const kind = oneOf(...Object.keys(kinds));
  const which = outline({ [key]: kind });
  const shapes = Object.fromEntries(
    Object.entries(kinds).map(([name, fields]) => [name, shapeOf({ [key]: kind, ...fields })]),
  );
  return (value, at) =>
    which(value, at) ?? shapes[(value as Readonly<Record<string, string>>)[key] ?? '']?.(value, at);
}

/** The first of several objects that has its distinguishing field, otherwise the last. */
export function withField<Value, Otherwise>(
  cases: Readonly<Record<string, Shape<Value>>>,
  otherwise: Shape<Otherwise>,
): Shape<Value | Otherwise> {
  return (value, at) => {
    const found =
      typeof value === 'object' && value !== null
        ? Object.keys(cases).find((key) => Object.hasOwn(value, key))
        : undefined;
    return (found === undefined ? otherwise : cases[found])?.(value, at);
  };
}

/**
 * Free JSON up to a size, such as a spec that a plugin or the planner checks.
 */
export function json(mostBytes: number): Shape<Json> {
  return (value, at) => {
    let bytes = 0;
    const walk = (part: unknown, depth: number): string | undefined => {
      bytes += typeof part === 'object' && part !== null ? 3 : jsonBytes(part) + 1;
      if (bytes > mostBytes) return `${place(at)}: is larger than ${mostBytes} bytes`;
      if (part === undefined) return wrong(at, 'given', part);
      if (typeof part !== 'object' || part === null) return undefined;
      if (depth === deepest) return `${place(at)}: is nested more than ${deepest} levels deep`;
      if (Array.isArray(part))
        return firstWrong(part as readonly unknown[], (entry) => walk(entry, depth + 1));
      return firstWrong(Object.entries(part), ([key, entry]: [string, unknown]) => {
        bytes += jsonBytes(key) + 1;
        return isForbiddenKey(key) ? forbidden(at, key) : walk(entry, depth + 1);
      });
    };
    return walk(value, 0);
  };
}

/** Free JSON whose outermost value is an object. */
export function jsonObject(mostBytes: number): Shape<JsonObject> {
  const free = json(mostBytes);
  return (value, at) => plainObject(value, at) ?? free(value, at);
}

function plainObject(value: unknown, at: string): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return wrong(at, 'an object', value);
  const key = Object.keys(value).find(isForbiddenKey);
  return key === undefined ? undefined : forbidden(at, key);
}

function forbidden(at: string, key: string): string {
  return `${place(at)}: must not have a field named ${key}`;
}

function when<Value>(expected: string, isIt: (value: unknown) => boolean): Shape<Value> {
  return (value, at) => (isIt(value) ? undefined : wrong(at, expected, value));
}

function wrong(at: string, expected: string, value: unknown): string {
  const found = value === undefined ? 'is missing' : `is ${describe(value)}`;
  return `${place(at)}: ${found}, and must be ${expected}`;
}

function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'string') return value === '' ? 'an empty text' : `text of ${value.length} characters`;
  return typeof value === 'object' ? 'an object' : `${value as number | boolean}`;
}

function firstWrong<Entry>(
  entries: Iterable<Entry>,
  find: (entry: Entry) => string | undefined,
): string | undefined {
  for (const entry of entries) {
    const found = find(entry);
    if (found !== undefined) return found;
  }
  return undefined;
}

function place(at: string): string {
  return at === '' ? 'the argument' : at;
}

function within(at: string, key: string): string {
  return at === '' ? key : `${at}.${key}`;
}

function shorten(key: string): string {
  return key.length > 60 ? `${key.slice(0, 57)}...` : key;
}
