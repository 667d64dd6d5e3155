import { z } from 'zod';

/** A shell command that a service has run on its nodes. */
export const nodeCommandSchema = z
  .string()
  .min(1)
  .max(10_000)
  .refine((text) => text.trim() !== '', { error: 'is empty' })
  .refine((text) => !text.includes('\0'), { error: 'contains a NUL character, which no shell takes' });

/** Whether the engine becomes root before it does something on a node; `what` completes "Whether to". */
export function sudoSchema(title: string, what: string): z.ZodExactOptional<z.ZodBoolean> {
  return z
    .boolean()
    .exactOptional()
    .meta({ title, description: `Whether to ${what} as root, with sudo -n if the login user is not root.` });
}
