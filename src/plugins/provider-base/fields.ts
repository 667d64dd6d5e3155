import { z } from 'zod';
import type { JsonObject } from '../../model/json.js';
import { PluginError } from '../errors.js';
import { isHostKey } from '../known-hosts.js';

// Fields of several provider types.
export const text = z.string().min(1);
/** A secret, or a reference that is resolved when the machine is reached. */
export const secret = z.union([text, z.strictObject({ secret: text })]);
export const port = z.int().min(1).max(65_535);
export const address = z
  .string()
  .regex(/^[A-Za-z0-9:][A-Za-z0-9.:_-]*$/, { error: 'must be an IP address or a host name' });
export const publicKeys = z.array(z.string().regex(/^[^\r\n]+$/, { error: 'must be one key on one line' }));
const hostKey = text.refine(isHostKey, { error: 'must be a host key: "<type> <base64>", as in known_hosts' });
export const hostKeys = z.union([hostKey, z.array(hostKey).min(1)]);

/** The name of a machine or resource, at most `length` characters. */
export function nameOfLength(length: number) {
  return z
    .string()
    .regex(new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,${length - 1}}$`), {
      error: 'must consist of letters, digits, dots, underscores and hyphens',
    });
}

/**
 * Reads all fields of an account; `conflictsOf` returns conflicts between fields.
 * @throws PluginError Invalid naming every wrong field; values are not quoted, because they may be secret.
 */
export function readFields<Schema extends z.ZodType>(
  schema: Schema,
  fields: JsonObject,
  type: string,
  conflictsOf: (fields: z.output<Schema>) => readonly string[] = () => [],
): z.output<Schema> {
  const parsed = schema.safeParse(fields);
  const wrong = parsed.success ? conflictsOf(parsed.data) : placesIn(parsed.error);
  if (parsed.success && wrong.length === 0) return parsed.data;
  throw new PluginError('Invalid', `the fields of the ${type} provider are invalid: ${wrong.join('; ')}`);
}

/** Reads a part of the fields. @throws PluginError Invalid naming every fault, without values. */
export function parseFields<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  what: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new PluginError('Invalid', `${what} in heddle.yaml: ${placesIn(parsed.error).join('; ')}`);
}

/** @throws PluginError Invalid if two items of the account have the same name. */
export function requireUniqueNames(things: readonly { readonly name: string }[], provider: string): void {
  const names = things.map(({ name }) => name);
  const doubled = names.filter((name, index) => names.indexOf(name) < index);
  if (doubled.length > 0)
    throw new PluginError(
      'Invalid',
      `provider ${provider} in heddle.yaml has duplicate entries: ${doubled.join(', ')}`,
    );
}

function placesIn({ issues }: z.ZodError): readonly string[] {
  return issues.map(({ path, message }) => `${path.map(String).join('.') || 'the whole'}: ${message}`);
}
