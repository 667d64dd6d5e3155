import { z } from 'zod';
import { kindOfValue, nameOfType } from '../model/json.js';
import { errorAt, maxProblems, quoteValue, type Path, type Problem } from './problem.js';
import { suggest } from './suggest.js';

type Issue = z.core.$ZodIssue;

/**
 * Describes the issues of a failed parse: each problem, and what the schema expects.
 * @param isQuotable whether a message may contain the value at a path. Secrets (`writeOnly`) never are.
 */
export function problemsFromZod(
  schema: z.ZodType,
  error: z.ZodError,
  value: unknown,
  isQuotable: (path: Path) => boolean = () => true,
): readonly Problem[] {
  const found = error.issues.slice(0, maxProblems).flatMap((issue) => {
    const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
    if (issue.code !== 'unrecognized_keys')
      return [
        describeIssue(
          issue,
          path,
          schemaAt(schema, path),
          isQuotable(path)
            ? shownAt(schema, path, valueAt(value, path))
            : { value: valueAt(value, path), text: kindOfValue(valueAt(value, path)) },
        ),
      ];
    const known = knownKeys(schemaAt(schema, path));
    return issue.keys
      .slice(0, maxProblems)
      .map((key) => errorAt([...path, key], 'is an unknown key', suggest(key, known)));
  });
  return found.slice(0, maxProblems);
}

interface Shown {
  readonly value: unknown;
  /** The value for a message. */
  readonly text: string;
}

/** Never quotes a value that is secret (`writeOnly`), or that should have been a secret reference. */
function shownAt(schema: z.ZodType, path: Path, value: unknown): Shown {
  const isSecret =
    path.at(-1) === 'secret' ||
    [...path.keys(), path.length].some((length) => {
      const above = schemaAt(schema, path.slice(0, length));
      return (
        above !== undefined &&
        (above.meta()?.['writeOnly'] === true || unwrap(above).meta()?.['writeOnly'] === true)
      );
    });
  const isPlain = !['object', 'boolean', 'undefined'].includes(typeof value);
  return { value, text: isSecret && isPlain ? '(a secret)' : quoteValue(value) };
}

function describeIssue(
  issue: Issue,
  path: Path,
  schema: z.ZodType | undefined,
  { value, text }: Shown,
): Problem {
  const right = schema === undefined ? undefined : describedIn(schema);
  const wrong = (words: string): Problem => errorAt(path, words, right);
  if (value === undefined) return wrong('is missing');
  switch (issue.code) {
    case 'invalid_type':
      // Text in place of a list or mapping may contain any of its members.
      return wrong(
        `should be ${nameOfType(issue.expected)}, but is ${containers.includes(issue.expected) ? kindOfValue(value) : text}`,
      );
    case 'invalid_value':
      return errorAt(
        path,
        `${text} is not allowed`,
        suggest(text.replaceAll('"', ''), issue.values.map(String)) ?? right,
      );
    case 'invalid_key':
      return errorAt(path, `${quoteValue(path.at(-1))} is not a valid name`, issue.issues[0]?.message);
    case 'too_small':
      return wrong(`${amount(issue.origin, value, text)}, but must be at least ${issue.minimum}`);
    case 'too_big':
      return wrong(`${amount(issue.origin, value, text)}, but must be at most ${issue.maximum}`);
    case 'invalid_format':
      return errorAt(path, `${text} is not valid`, right ?? issue.message);
    default:
      return wrong(`${text} ${issue.message}`);
  }
}

const containers: readonly string[] = ['array', 'object', 'record'];

function amount(origin: string, value: unknown, text: string): string {
  if (Array.isArray(value)) return `has ${value.length} entries`;
  if (typeof value === 'object' && value !== null) return `has ${Object.keys(value).length} entries`;
  return origin === 'string' ? `has ${String(value).length} characters` : `is ${text}`;
}

/**
 * The schema at a path, with optional and default wrappers removed on the way; undefined if it
 * is not one schema.
 */
export function schemaAt(schema: z.ZodType, path: Path): z.ZodType | undefined {
  let current: z.ZodType | undefined = schema;
  for (const part of path) current = current === undefined ? undefined : childOf(unwrap(current), part);
  return current;
}

function childOf(schema: z.ZodType, part: string | number): z.ZodType | undefined {
  const child: unknown =
    schema instanceof z.ZodObject
      ? schema.shape[part]
      : schema instanceof z.ZodRecord
        ? schema.valueType
        : schema instanceof z.ZodArray
          ? schema.element
          : undefined;
  return child instanceof z.ZodType ? child : undefined;
}

export function unwrap(schema: z.ZodType): z.ZodType {
  let current: unknown = schema;
  while (current instanceof z.ZodPipe || isWrapper(current))
    current = current instanceof z.ZodPipe ? current.in : current.unwrap();
  return current instanceof z.ZodType ? current : schema;
}

function isWrapper(
  schema: unknown,
): schema is z.ZodOptional | z.ZodExactOptional | z.ZodDefault | z.ZodPrefault {
  return (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodExactOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  );
}

function knownKeys(schema: z.ZodType | undefined): readonly string[] {
  const inner = schema === undefined ? undefined : unwrap(schema);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

function describedIn(schema: z.ZodType): string | undefined {
  return schema.meta()?.description ?? unwrap(schema).meta()?.description;
}

function valueAt(value: unknown, path: Path): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined;
    current = Reflect.get(current, part);
  }
  return current;
}
