import type { z } from 'zod';

/**
 * Optional settings that have defaults of their own. Unlike `.prefault({})`, it adds no default
 * to JSON Schema.
 */
export function section<T extends z.ZodType>(schema: T) {
  return schema.optional().transform((given): z.output<T> => given ?? schema.parse({}));
}
