import { z } from 'zod';
import { PluginError } from './errors.js';

/** A value of an argument or a variable, as text. */
export const textValue = z
  .union([z.string().regex(/^[^\0]*$/), z.number(), z.boolean()], {
    error: 'must be text, a number, or true or false',
  })
  .transform(String);

/**
 * Checks an action's fields. Messages quote no values, which may be secret.
 * @throws PluginError Invalid naming every wrong field.
 */
export function parseFields<Shape extends z.ZodType>(
  automator: string,
  shape: Shape,
  fields: unknown,
): z.output<Shape> {
  const parsed = shape.safeParse(fields);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => {
    const [top = '', ...below] = issue.path;
    const path = below.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`));
    const { message } = (issue.code === 'invalid_key' && issue.issues[0]) || issue;
    return `field ${String(top)}${path.join('')} ${message}`;
  });
  throw new PluginError('Invalid', `automator ${automator}: ${faults.join('; ')}`);
}

export function fieldFault(automator: string, field: string, fault: string): PluginError {
  return new PluginError('Invalid', `automator ${automator}: field ${field} ${fault}`);
}
