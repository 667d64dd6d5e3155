import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import { code, escapeMarkdown } from './markdown.js';

/** A key of a file or a member of a document, by its path such as `nodes.<group>.count`. */
export interface KeyRow {
  readonly path: string;
  readonly type: string;
  /** The default, or `required`. */
  readonly fallback: string;
  readonly meaning: string;
}

/** How a reference to a shared object is shown. */
export type ShowReference = (name: string) => string;

/**
 * Every key that a JSON Schema describes. Objects of the same form are described once; references only if
 * `showReference` is not given.
 */
export function keyRows(schema: JsonObject, showReference?: ShowReference): readonly KeyRow[] {
  const seen = new Map<string, string>();
  const definitions = (schema['definitions'] ?? {}) as Readonly<Record<string, JsonObject>>;

  function rowsIn(path: string, parent: JsonObject): readonly KeyRow[] {
    const properties = Object.entries((parent['properties'] ?? {}) as Readonly<Record<string, JsonObject>>);
    const required = (parent['required'] ?? []) as readonly string[];
    return properties
      .filter(([key]) => key !== '$schema')
      .flatMap(([key, value]) => rowsOf(path === '' ? key : `${path}.${key}`, value, required.includes(key)));
  }

  function rowsOf(path: string, written: JsonObject, isRequired: boolean): readonly KeyRow[] {
    const own = resolve(written);
    const inner = innerObject(path, own);
    const form = inner === undefined ? '' : JSON.stringify(inner.schema);
    const earlier = seen.get(form);
    const [meaning, said] = splitDefault(textOf(own['description'] ?? own['title']));
    const type =
      inner !== undefined && earlier !== undefined ? `as ${code(earlier)}` : describe(own, showReference);
    const row = {
      path,
      type: own['writeOnly'] === true ? `${type}, secret` : type,
      fallback: isRequired ? 'required' : (said ?? describeDefault(own['default'])),
      meaning: escapeMarkdown(meaning),
    };
    if (inner === undefined || earlier !== undefined) return [row];
    seen.set(form, path);
    return [row, ...rowsIn(inner.path, inner.schema)];
  }

  /** The object whose keys follow those of a value: itself, or the entry of a list or map. */
  function innerObject(
    path: string,
    value: JsonObject,
  ): { readonly path: string; readonly schema: JsonObject } | undefined {
    for (const variant of variantsOf(value).map(resolve)) {
      if (isReference(variant)) continue;
      if (isJsonObject(variant['properties'])) return { path, schema: variant };
      if (isJsonObject(variant['items'])) {
        const inner = innerObject(`${path}[]`, resolve(variant['items']));
        if (inner !== undefined) return inner;
      }
      if (isJsonObject(variant['additionalProperties'])) {
        const entry = resolve(variant['additionalProperties']);
        const title = textOf(entry['title']).toLowerCase();
        const name = /^\w+(?: \w+)?$/.test(title) ? title : 'name';
        const inner = innerObject(`${path}.<${name}>`, entry);
        if (inner !== undefined) return inner;
      }
    }
    return undefined;
  }

  function resolve(value: JsonObject): JsonObject {
    const only = Array.isArray(value['allOf']) && value['allOf'].length === 1 ? value['allOf'][0] : undefined;
    if (isJsonObject(only)) return { ...resolve(only), ...value };
    const name = referenceOf(value);
    if (name === undefined || showReference !== undefined) return value;
    return { ...definitions[name], ...value };
  }

  return rowsIn('', schema);
}

const expression = String.raw`\$\{\{.*\}\}`;

/** The forms that a value may have, without expressions, which may stand for most values. */
function variantsOf(value: JsonObject): readonly JsonObject[] {
  const variants = value['anyOf'] ?? value['oneOf'];
  if (Array.isArray(value['type'])) return value['type'].map((type) => ({ ...value, type }));
  if (!Array.isArray(variants)) return [value];
  return variants
    .filter(isJsonObject)
    .flatMap(variantsOf)
    .filter(({ pattern }) => pattern !== expression);
}

function describe(value: JsonObject, showReference: ShowReference = code): string {
  const types = variantsOf(value).map((variant) => describeOne(variant, showReference));
  const isDuration = types.includes('duration');
  return [...new Set(types.filter((type) => !isDuration || type !== 'number'))].join(' or ');
}

function describeOne(value: JsonObject, showReference: ShowReference): string {
  const name = referenceOf(value);
  if (name !== undefined) return showReference(name);
  if ('const' in value) return code(JSON.stringify(value['const']));
  if (Array.isArray(value['enum'])) return value['enum'].map((one) => code(String(one))).join(', ');
  switch (value['type']) {
    case 'integer':
    case 'number':
      return `${value['type']}${describeRange(value)}`;
    case 'string':
      return describeText(textOf(value['pattern']));
    case 'array':
      return `list of ${isJsonObject(value['items']) ? describe(value['items'], showReference) : 'values'}`;
    case 'object':
      if (isReference(value)) return 'reference';
      if (isJsonObject(value['properties'])) return 'object';
      return isJsonObject(value['additionalProperties']) &&
        Object.keys(value['additionalProperties']).length > 0
        ? `map of ${describe(value['additionalProperties'], showReference)}`
        : 'map of values';
    case 'boolean':
    case 'null':
      return value['type'];
    default:
      return 'any value';
  }
}

/** `{secret: "env:NAME"}`. */
function isReference({ properties }: JsonObject): boolean {
  return isJsonObject(properties) && Object.keys(properties).join() === 'secret';
}

function describeText(pattern: string): string {
  if (pattern.includes('(?:ms|s|m|h|d)')) return 'duration';
  return pattern.startsWith('^[a-z0-9]([a-z0-9') ? 'name' : 'text';
}

function describeRange({ minimum, maximum }: JsonObject): string {
  const [least, most] = [minimum, maximum].map((bound) =>
    typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined,
  );
  if (least !== undefined && most !== undefined) return `, ${least} to ${most}`;
  if (least !== undefined) return `, at least ${least}`;
  return most === undefined ? '' : `, at most ${most}`;
}

/** Descriptions say a default in words where it is no constant. */
export function splitDefault(description: string): readonly [meaning: string, fallback: string | undefined] {
  const [, before = '', said, after = ''] =
    /^(.*?) ?\bDefault: ([^.]+)\.(?= |$)(.*)$/s.exec(description) ?? [];
  return said === undefined ? [description, undefined] : [`${before}${after}`, escapeMarkdown(said)];
}

function describeDefault(value: Json | undefined): string {
  if (value === undefined) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return ['{}', '[]', ''].includes(text) ? 'none' : code(text);
}

function referenceOf(value: JsonObject): string | undefined {
  return typeof value['$ref'] === 'string' ? /[^/]+$/.exec(value['$ref'])?.[0] : undefined;
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
