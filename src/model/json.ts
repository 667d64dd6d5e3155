/** Plain data, the type of payloads, task inputs and workflow state. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a value is, for messages that must not quote it. */
export function kindOfValue(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (isJsonObject(value))
    return typeof value['secret'] === 'string' && Object.keys(value).length === 1
      ? 'a reference to a secret'
      : 'a mapping';
  return typeof value === 'string'
    ? 'text'
    : typeof value === 'boolean'
      ? 'true or false'
      : `a ${typeof value}`;
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping (keys and values)',
  record: 'a mapping (keys and values)',
};

/** What a value should be, by the name that zod gives its type. */
export function nameOfType(type: string): string {
  return typeNames[type] ?? type;
}

const forbiddenKeys: readonly string[] = ['__proto__', 'constructor', 'prototype'];

/** Whether a key would reach the prototype of an object that is copied or merged key by key. */
export function isForbiddenKey(key: string): boolean {
  return forbiddenKeys.includes(key);
}

/** Makes every member read-only, at any depth. JSON of unknown shape stays as it is. */
export type DeepReadonly<Value> = Value extends readonly (infer Item)[]
  ? number extends Value['length']
    ? readonly DeepReadonly<Item>[]
    : { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
  : JsonObject extends Value
    ? Value
    : Value extends object
      ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
      : Value;

/** The JSON Pointer (RFC 6901) to what is under a key of the value at a pointer. */
export function pointerBelow(pointer: string, key: string | number): string {
  return `${pointer}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}
