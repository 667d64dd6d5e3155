import { z } from 'zod';
import type { FieldFault } from '../../model/field-fault.js';
import { PluginError } from '../errors.js';
import { parseOrFaults } from '../field-faults.js';
import { isHostKey } from '../known-hosts.js';

// Fields of several provider types.
export const text = z.string().min(1);
/** A secret, or a reference that is resolved when the machine is reached. */
export const secret = z.union([text, z.strictObject({ secret: text })], {
  error: 'must be text, or a reference such as {secret: "env:NAME"}',
});
export const port = z.int().min(1).max(65_535);
export const address = z
  .string()
  .regex(/^[A-Za-z0-9:][A-Za-z0-9.:_-]*$/, { error: 'must be an IP address or a host name' });
const hostKeyRule = 'must be a host key, or a list of them: "<type> <base64>", as in known_hosts';
const hostKey = text.refine(isHostKey);
export const hostKeys = z.union([hostKey, z.array(hostKey).min(1)], { error: hostKeyRule });

/** The name of a machine or resource, at most `length` characters. */
export function nameOfLength(length: number) {
  return z
    .string()
    .regex(new RegExp(`^[A-Za-z0-9][A-Za-z0-9._-]{0,${length - 1}}$`), {
      error: 'must consist of letters, digits, dots, underscores and hyphens',
    });
}

/** The faults of a field's value. */
export function faultsOf(schema: z.ZodType, key: string, value: unknown): readonly FieldFault[] {
  const parsed = parseOrFaults(schema, value);
  return 'data' in parsed ? [] : parsed.faults.map(({ path, wrong }) => ({ path: [key, ...path], wrong }));
}

/** Reads a part of the fields. @throws PluginError Invalid naming every fault, without values. */
export function parseFields<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  what: string,
): z.output<Schema> {
  const parsed = parseOrFaults(schema, value);
  if ('data' in parsed) return parsed.data;
  const faults = parsed.faults.map(({ path, wrong }) => `${path.join('.') || 'the whole'}: ${wrong}`);
  throw new PluginError('Invalid', `${what} in heddle.yaml: ${faults.join('; ')}`);
}

/** @throws PluginError Invalid if two items of the account have the same name. */
export function requireUniqueNames(things: readonly Named[], provider: string): void {
  const doubled = duplicatesIn(things);
  if (doubled.length > 0)
    throw new PluginError(
      'Invalid',
      `provider ${provider} in heddle.yaml has duplicate entries: ${doubled.join(', ')}`,
    );
}

/** The faults of a list of things with names. */
export function faultsOfNamed(
  schema: z.ZodType<readonly Named[]>,
  key: string,
  value: unknown,
): readonly FieldFault[] {
  const faults = faultsOf(schema, key, value);
  const doubled = faults.length > 0 ? [] : duplicatesIn(schema.parse(value));
  return [...faults, ...doubled.map((name) => ({ path: [key], wrong: `${name} is duplicated` }))];
}

interface Named {
  readonly name: string;
}

function duplicatesIn(things: readonly Named[]): readonly string[] {
  const names = things.map(({ name }) => name);
  return names.filter((name, index) => names.indexOf(name) < index);
}
