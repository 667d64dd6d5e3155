import type { z } from 'zod';
import type { FieldFault } from '../model/field-fault.js';
import { kindOfValue, nameOfType } from '../model/json.js';

/**
 * Parses a part of the fields, or a file that they name.
 * @returns the faults without values, which may be secret.
 */
export function parseOrFaults<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): { readonly data: z.output<Schema> } | { readonly faults: readonly FieldFault[] } {
  const parsed = schema.safeParse(value, { error: describeIssue });
  if (parsed.success) return { data: parsed.data };
  return {
    faults: parsed.error.issues.flatMap((issue) => {
      const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
      if (issue.code !== 'unrecognized_keys') return [{ path, wrong: issue.message }];
      return issue.keys.map((key) => ({ path: [...path, key], wrong: 'is an unknown key' }));
    }),
  };
}

/** What is wrong, for schemas without a message of their own. */
function describeIssue(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined && issue.code !== 'invalid_key') return 'is missing';
  switch (issue.code) {
    case 'invalid_type':
      return `should be ${nameOfType(issue.expected)}, but is ${kindOfValue(issue.input)}`;
    case 'invalid_value':
      return `is not one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_key':
      return issue.issues[0]?.message ?? 'is not a valid name';
    case 'too_small':
      return issue.origin === 'number' || issue.origin === 'int'
        ? `is less than ${issue.minimum}`
        : Number(issue.minimum) === 1
          ? 'is empty'
          : `has fewer than ${issue.minimum} ${unitOf(issue.origin)}`;
    case 'too_big':
      return issue.origin === 'number' || issue.origin === 'int'
        ? `is more than ${issue.maximum}`
        : `has more than ${issue.maximum} ${unitOf(issue.origin)}`;
    case 'invalid_format':
      return issue.format === 'url' ? 'is not an address such as https://cloud.example.com' : 'is not valid';
    default:
      return 'is not valid';
  }
}

function unitOf(origin: string): string {
  return origin === 'string' ? 'characters' : 'entries';
}
