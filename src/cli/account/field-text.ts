import { withoutUserInfo } from '../../model/endpoint.js';
import type { Json, JsonObject } from '../../model/json.js';
import { holdsPrivateKey, isSecretName } from '../../model/node/strip-secrets.js';
import type { FieldDeclaration } from '../../schema/descriptor.js';
import { isText } from '../../schema/field-values.js';
import type { Path } from '../../schema/problem.js';
import { readYaml } from '../../schema/yaml-source.js';

/** The forms of references, for people. */
export const referenceForms = 'env:NAME, file:PATH, exec:COMMAND or vault:PATH#FIELD';

/**
 * The value of a text that was typed for a field; undefined for a blank text. A text that is not of the
 * field's type stays a text, so that the check of fields reports it.
 * @param field absent where the plugin declares no fields.
 */
export function parseFieldText(field: FieldDeclaration | undefined, typed: string): Json | undefined {
  const text = field?.secret === true || field?.type === 'text' ? typed : typed.trim();
  if (text.trim() === '') return undefined;
  const referable = field === undefined || field.secret === true || isText(field.type);
  const reference = referable ? parseReference(text.trim()) : undefined;
  if (reference !== undefined) return reference;
  switch (field?.type) {
    case 'number':
    case 'integer':
    case 'duration':
      return parseNumber(text);
    case 'boolean':
      return booleans[text.toLowerCase()] ?? text;
    case 'list':
      return text.startsWith('[')
        ? parseYaml(text)
        : text
            .split(text.includes('\n') ? '\n' : ',')
            .map((item) => item.trim())
            .filter((item) => item !== '');
    case 'map':
    case 'json':
      return parseYaml(text);
    case undefined:
      return /^[[{]/.test(text) ? parseYaml(text) : text;
    default:
      return text;
  }
}

/**
 * Whether a value must be hidden: fields that the plugin declares secret, and in any field
 * private keys and addresses with a password. References may be shown.
 */
export function isPlainSecret(field: FieldDeclaration | undefined, value: Json | undefined): boolean {
  if (value === undefined || isReference(value)) return false;
  return field?.secret === true || (field !== undefined && typeof value === 'string' && isSecretText(value));
}

/** The place of the first member of a list or mapping that is such a secret, or has the name of one. */
export function plainSecretWithin(
  field: FieldDeclaration | undefined,
  value: Json | undefined,
  isNamed = false,
): Path | undefined {
  if (typeof value === 'string') return isNamed || isSecretText(value) ? [] : undefined;
  if (typeof value === 'number') return isNamed ? [] : undefined;
  if (typeof value !== 'object' || value === null || isReference(value)) return undefined;
  for (const [key, member] of Object.entries(value)) {
    const isSecret = isNamed || (!Array.isArray(value) && isSecretMember(field, key));
    const place = plainSecretWithin(field, member, isSecret);
    if (place !== undefined) return [Array.isArray(value) ? Number(key) : key, ...place];
  }
  return undefined;
}

/** A private key, or a text with an address that contains credentials. */
function isSecretText(text: string): boolean {
  return holdsPrivateKey(text) || withoutUserInfo(text) !== text;
}

/** Whether the members of this name are secrets. `key` is a private key where logins are described. */
export function isSecretMember(field: FieldDeclaration | undefined, key: string): boolean {
  return isSecretName(key) || (key === 'key' && field?.passReferences === true);
}

export function isReference(value: Json | undefined): value is JsonObject & { readonly secret: string } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'secret' in value &&
    typeof value.secret === 'string' &&
    Object.keys(value).length === 1
  );
}

const booleans: Readonly<Record<string, boolean>> = { true: true, yes: true, false: false, no: false };

/** `env:NAME`, or as heddle.yaml has it: `{secret: "env:NAME"}`. */
function parseReference(text: string): JsonObject | undefined {
  const inner = /^\{\s*"?secret"?\s*:\s*(["']?)(.+)\1\s*\}$/.exec(text)?.[2] ?? text;
  return /^(env|file|exec|vault):\S/.test(inner) && !inner.includes('\n') ? { secret: inner } : undefined;
}

function parseNumber(text: string): Json {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : text;
}

/** YAML, a superset of JSON. */
function parseYaml(text: string): Json {
  const reading = readYaml(text, 'the value', { bytes: 64 * 1024, depth: 32 });
  return reading.ok ? reading.value : text;
}
