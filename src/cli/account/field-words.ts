import { withoutUserInfo } from '../../model/endpoint.js';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import { holdsPrivateKey, stripSecrets } from '../../model/node/strip-secrets.js';
import type { Descriptor, FieldDeclaration } from '../../schema/descriptor.js';
import { describeCondition, describeConstraints } from '../../schema/field-constraints.js';
import { isSecretMember } from './field-text.js';

/** For plugins that do not declare their fields. */
export const noFieldsDeclared =
  'This plugin does not declare its fields: set those that it needs under fields in heddle.yaml, or with --field key=value.';

/** `required`, `optional`, `one of several`, or what requires it. */
export function describeNeed(key: string, { fields }: Pick<Descriptor, 'fields'>): string {
  const sets = fields?.required.admin ?? [];
  if (sets.length > 0 && sets.every((set) => set.includes(key))) return 'required';
  if (sets.some((set) => set.includes(key))) return 'one of several';
  const condition = fields?.admin[key]?.requiredWhen;
  return condition === undefined ? 'optional' : `required when ${describeCondition(condition)}`;
}

/** The alternative sets of fields, one of which is required; undefined without a choice. */
export function describeAlternatives({ fields }: Pick<Descriptor, 'fields'>): string | undefined {
  const sets = fields?.required.admin ?? [];
  if (sets.length < 2) return undefined;
  return `It needs ${sets.map((set) => set.join(' and ')).join(', or ')}.`;
}

/** The accepted values, the constraints and the default. */
export function describeKind(field: FieldDeclaration): string {
  const { type, options, secret, default: fallback } = field;
  const kind = options === undefined ? kinds[type] : `one of ${options.join(', ')}`;
  return `${[kind, ...describeConstraints(field)].join(', ')}${secret === true ? ', secret' : ''}${fallback === undefined ? '' : `; default: ${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}`}`;
}

/** Fields of an account as text. If the plugin does not declare which are secret, any may be. */
export function hideSecrets(
  descriptor: Pick<Descriptor, 'fields'> | undefined,
  fields: JsonObject,
): JsonObject {
  const declared = descriptor?.fields?.admin;
  return stripSecrets(
    Object.fromEntries(
      Object.entries(fields).map(([key, value]) => {
        const field = declared?.[key];
        return [key, field === undefined || field.secret === true ? '(secret)' : hideWithin(field, value)];
      }),
    ),
  );
}

function hideWithin(field: FieldDeclaration, value: Json): Json {
  if (typeof value === 'string') return holdsPrivateKey(value) ? '(secret)' : withoutUserInfo(value);
  if (Array.isArray(value)) return value.map((item: Json) => hideWithin(field, item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      isSecretMember(field, key) ? '(secret)' : hideWithin(field, member),
    ]),
  );
}

/** `endpoint=http://127.0.0.1:7300 apiKey=(secret)` */
export function describeFields(fields: JsonObject): string {
  const entries = Object.entries(fields).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return entries.length === 0 ? 'no fields' : entries.join(' ');
}

const kinds: Readonly<Record<FieldDeclaration['type'], string>> = {
  string: 'a line of text',
  text: 'text',
  url: 'a URL such as https://cloud.example.com',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  select: 'an option',
  list: 'a list: a, b or [a, b]',
  map: 'a mapping: {key: value}',
  duration: 'a duration such as 30s',
  json: 'any value, as YAML or JSON',
  resource: 'a resource: {resource: NAME}',
};
