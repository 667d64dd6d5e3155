import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '../../../model/json.js';
import type { Descriptor, FieldDeclaration } from '../../../schema/descriptor.js';
import { declaredFields } from '../check-draft.js';
import { parseFieldText } from '../field-text.js';
import { hideSecrets } from '../field-words.js';

/** The values of a form, by the names of inputs. */
export type Typed = Pick<URLSearchParams, 'get'>;

export function inputName(key: string): string {
  return `field.${key}`;
}

/** The name of the checkbox that removes a stored value. */
export function removalName(key: string): string {
  return `remove.${key}`;
}

/** Whether a stored value may be sent to the browser: neither it nor a part of it is secret. */
export function isShown(key: string, field: FieldDeclaration, value: Json): boolean {
  const declared = { fields: { admin: { [key]: field }, user: {}, required: { admin: [], user: [] } } };
  return isDeepStrictEqual(hideSecrets(declared, { [key]: value }), { [key]: value });
}

/** The initial input of a form of stored fields: their values as typed text, without secrets. */
export function typedOf(descriptor: Descriptor, stored: JsonObject): URLSearchParams {
  return new URLSearchParams(
    declaredFields(descriptor).flatMap(([key, field]): [string, string][] => {
      const value = stored[key];
      return value === undefined || !isShown(key, field, value) ? [] : [[inputName(key), textOf(value)]];
    }),
  );
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/**
 * The fields of a form. A stored value that the browser never got stays, unless another is
 * typed or its removal is ticked; so do fields that the plugin does not declare.
 */
export function fieldsOf(descriptor: Descriptor, typed: Typed, stored: JsonObject): JsonObject {
  const declared = declaredFields(descriptor);
  const undeclared = Object.entries(stored).filter(([key]) => !declared.some(([known]) => known === key));
  const fields = declared.flatMap(([key, field]): readonly (readonly [string, Json])[] => {
    const value =
      parseFieldText(field, textAt(typed, inputName(key))) ?? keptValue(key, field, typed, stored);
    return value === undefined ? [] : [[key, value]];
  });
  return Object.fromEntries([...undeclared, ...fields]) as JsonObject;
}

function keptValue(key: string, field: FieldDeclaration, typed: Typed, stored: JsonObject): Json | undefined {
  const value = stored[key];
  if (value === undefined || isShown(key, field, value) || typed.get(removalName(key)) !== null)
    return undefined;
  return value;
}

/** Forms send lines that end with CRLF. */
function textAt(typed: Typed, name: string): string {
  return (typed.get(name) ?? '').replaceAll('\r\n', '\n');
}
