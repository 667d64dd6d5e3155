import { z } from 'zod';
import type { DeepReadonly, Json } from '../../model/json.js';

/** The type of what a schema of the output describes. */
export type View<Schema extends z.ZodType> = DeepReadonly<z.output<Schema>>;

/** Identical types, optional members included. */
type Same<One, Other> =
  (<T>() => T extends One ? 1 : 2) extends <T>() => T extends Other ? 1 : 2 ? true : false;

/**
 * Returns the schema. Does not compile if its type is not exactly `Value`, read-only or not.
 * For types that a view shows whole but that are not its own: the plugin contract and the
 * messages of activities declare them, and must not change with a document.
 */
export function exactly<Value>() {
  return <Schema extends z.ZodType>(
    schema: Same<DeepReadonly<z.output<Schema>>, DeepReadonly<Value>> extends true
      ? Schema
      : { readonly typeIsNot: Value },
  ): Schema => schema as Schema;
}

/** An object whose members are not part of the stable output: they belong to plugins, or to Heddle itself. */
export function opaque<Value>(description: string): z.ZodType<Value> {
  return z.record(z.string(), z.unknown()).describe(description) as z.ZodType<unknown> as z.ZodType<Value>;
}

/** Any JSON value. */
export const json = z.unknown() as z.ZodType<Json>;

export const texts = z.array(z.string());
export const moment = z.string().describe('RFC 3339.');
export const millisecond = z.number().describe('Milliseconds since the epoch.');
export const count = z.number().int();
