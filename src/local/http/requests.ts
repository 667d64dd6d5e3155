import { createHash } from 'node:crypto';
import { bodyLimit } from 'hono/body-limit';
import { z } from 'zod';
import { ApiError } from '../errors.js';
import { sortedEntries } from '../files.js';
import { operations } from '../journal.js';
import { imageNamePattern } from '../image/library.js';
import { machineStates } from '../machine.js';
import { flavors } from '../quota.js';
import { parsePublicKey } from '../ssh/auth.js';
import type { Call } from './server.js';

const hostnamePattern =
  /^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/;
const oneOf = (names: readonly string[]) =>
  z.string().refine((name) => names.includes(name), { error: `must be one of ${names.join(', ')}` });

export const createSchema = z.strictObject({
  /** The caller's own name for the machine. The service only keeps it. */
  key: z.string().min(1).max(512),
  /** The same token gives the same machine, for ever. */
  token: z.string().min(8).max(128),
  hostname: z
    .string()
    .max(64)
    .regex(hostnamePattern, { error: 'must be a host name: letters, digits, hyphens and dots' }),
  flavor: oneOf(Object.keys(flavors)),
  /** Whether there is one of this name is for the library to say. */
  image: z.string().regex(imageNamePattern, { error: 'must be a name, or name@revision' }),
  tags: z
    .record(z.string().min(1).max(128), z.string().max(512))
    .default({})
    .refine((tags) => Object.keys(tags).length <= 50, { error: 'must have at most 50 entries' }),
  publicKeys: z
    .array(
      z
        .string()
        .max(16_384)
        .regex(/^[^\n]*$/, { error: 'must be one line' })
        .refine((line) => parsePublicKey(line) !== undefined, {
          error: 'must be an OpenSSH public key, such as "ssh-ed25519 AAAA…"',
        }),
    )
    .max(50)
    .default([]),
});
export type CreateRequest = z.infer<typeof createSchema>;

export const powerSchema = z.strictObject({ power: z.enum(['on', 'off']) });

const pageSize = z.coerce.number().int().min(1).max(1_000).default(100);
export const listSchema = z.strictObject({
  tag: z.array(z.string().regex(/^[^=]+=/, { error: 'must be written NAME=VALUE' })).default([]),
  key: z.string().optional(),
  state: z.enum(machineStates).optional(),
  limit: pageSize,
  page: z.string().optional(),
});
export type ListRequest = z.infer<typeof listSchema>;

export const journalSchema = z.strictObject({
  after: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(100_000).default(1_000),
  operation: z.array(z.enum(operations)).optional(),
});

/** Query parameters that may be given several times. */
const repeatable = new Set(['tag', 'operation']);

const maxBodyBytes = 1024 * 1024;
export const limitBody = bodyLimit({
  maxSize: maxBodyBytes,
  onError: () => {
    throw new ApiError('TooLarge', `The body is larger than ${maxBodyBytes} bytes.`);
  },
});

/** Parses the JSON body of a call. @throws ApiError BadRequest that names every wrong field. */
export async function bodyOf<Schema extends z.ZodType>(call: Call, schema: Schema): Promise<z.infer<Schema>> {
  const text = await call.req.text();
  try {
    return check(schema, text === '' ? undefined : JSON.parse(text));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ApiError('BadRequest', `The body is not JSON: ${error.message}.`, { cause: error });
  }
}

/** Parses the query of a call. @throws ApiError BadRequest that names every wrong parameter. */
export function queryOf<Schema extends z.ZodType>(call: Call, schema: Schema): z.infer<Schema> {
  const values = Object.entries(call.req.queries()).map(([name, given]) => [
    name,
    repeatable.has(name) ? given : given.at(-1),
  ]);
  return check(schema, Object.fromEntries(values));
}

function check<Schema extends z.ZodType>(schema: Schema, input: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const texts = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the body'}: ${issue.message}`);
  throw new ApiError('BadRequest', `The request is wrong: ${texts.join('; ')}.`);
}

/** Digest of a request without its token. */
export function digestOf(request: CreateRequest): string {
  const { token: _, tags, ...rest } = request;
  return createHash('sha256')
    .update(JSON.stringify([sortedEntries(rest), sortedEntries(tags)]))
    .digest('hex');
}
