import { types } from 'node:util';
import type { JsonObject } from '../model/json.js';
import { maxResultBytes } from '../model/node/payload.js';
import type { TaskResult } from '../model/node/task.js';
import { PluginError } from '../plugins/errors.js';
import { copyPlainJson, isPlainObject } from './plain-json.js';
import { errorAt, formatPath, quoteValue, type Problem } from './problem.js';
import { suggest } from './suggest.js';

/** Maximum length of stdout and stderr each, in characters; the middle of longer output is removed. */
const maxOutput = 64 * 1024;
const knownKeys = ['status', 'result', 'stdout', 'stderr'] as const;

export interface ResultSource {
  readonly plugin: string;
  readonly task?: string;
  /** A program must return a status; a TypeScript method that returns has succeeded. */
  readonly requireStatus?: boolean;
}

export type ParsedResult = TaskResult & { readonly result?: JsonObject };

/**
 * Copies a plugin's return value into plain JSON without calling any of its code.
 * `acceptResult` checks the keys.
 * @throws PluginError Invalid, naming plugin, task, and every malformed field.
 */
export function parseResult(value: unknown, source: ResultSource): ParsedResult {
  if (value === undefined && source.requireStatus !== true) return {};
  const own = ownEntries(value);
  const problems: Problem[] = own.ok
    ? [...checkKeys(own.entries), ...checkStatus(own.entries, source)]
    : [...own.problems];
  const result = own.ok ? copyResult(own.entries, problems) : undefined;
  if (problems.length > 0) {
    const task = source.task === undefined ? '' : ` for ${source.task}`;
    const said = problems.map(({ path, wrong, right }) =>
      [`${formatPath(path)} ${wrong}`.trim(), ...(right === undefined ? [] : [right])].join('. '),
    );
    throw new PluginError(
      'Invalid',
      `plugin ${source.plugin} returned no valid result${task}: ${said.join('; ')}`,
    );
  }
  const entries = own.ok ? own.entries : {};
  const status = entries['status'];
  return {
    ...(typeof status === 'number' ? { status } : {}),
    result,
    ...outputOf('stdout', entries),
    ...outputOf('stderr', entries),
  };
}

type Entries = Readonly<Record<string, unknown>>;

function ownEntries(
  value: unknown,
):
  | { readonly ok: true; readonly entries: Entries }
  | { readonly ok: false; readonly problems: readonly Problem[] } {
  const refuse = (wrong: string) =>
    ({ ok: false, problems: [errorAt([], wrong, 'Return {status, result, stdout, stderr}.')] }) as const;
  if (typeof value !== 'object' || value === null || types.isProxy(value) || Array.isArray(value))
    return refuse(`it is ${describe(value)}`);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return refuse('it is an object of a class');
  const descriptors = Object.entries(Object.getOwnPropertyDescriptors(value)).filter(
    ([, property]) => property.enumerable === true,
  );
  const getters = descriptors.filter(([, property]) => !('value' in property));
  if (getters.length > 0)
    return { ok: false, problems: getters.map(([key]) => errorAt([key], 'is a getter, not a value')) };
  const entries = descriptors.map(([key, property]): readonly [string, unknown] => [key, property.value]);
  return { ok: true, entries: Object.fromEntries(entries.filter(([, entry]) => entry !== undefined)) };
}

function describe(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (typeof value === 'object') return types.isProxy(value) ? 'a Proxy' : 'a list';
  return `a ${typeof value}`;
}

function checkKeys(entries: Entries): readonly Problem[] {
  return Object.keys(entries)
    .filter((key) => !knownKeys.some((known) => known === key))
    .map((key) => errorAt([key], 'is an unknown key', suggest(key, knownKeys)));
}

function checkStatus(entries: Entries, source: ResultSource): readonly Problem[] {
  const status = entries['status'];
  if (status === undefined && source.requireStatus !== true) return [];
  if (status === undefined)
    return [errorAt(['status'], 'is missing', 'A program must return it: 0 for success.')];
  return typeof status === 'number' && Number.isSafeInteger(status)
    ? []
    : [
        errorAt(
          ['status'],
          `should be a whole number, but is ${typeof status === 'string' ? quoteValue(status) : describe(status)}`,
        ),
      ];
}

function copyResult(entries: Entries, problems: Problem[]): JsonObject | undefined {
  if (entries['result'] === undefined) return undefined;
  const copy = copyPlainJson(entries['result'], { bytes: maxResultBytes, depth: 16 });
  if (!copy.ok) {
    problems.push(...copy.problems.map((problem) => ({ ...problem, path: ['result', ...problem.path] })));
    return undefined;
  }
  if (!isPlainObject(copy.value)) {
    problems.push(errorAt(['result'], 'should be an object of keys and values'));
    return undefined;
  }
  const bytes = Buffer.byteLength(JSON.stringify(copy.value));
  if (bytes > maxResultBytes)
    problems.push(errorAt(['result'], `has ${bytes} bytes as JSON; the limit is ${maxResultBytes}`));
  return copy.value;
}

function outputOf<Key extends 'stdout' | 'stderr'>(
  key: Key,
  entries: Entries,
): { readonly [K in Key]?: string } {
  const output = entries[key];
  if (output === undefined || output === null) return {};
  // Output is for users: anything but text is described and does not fail the task.
  const text =
    typeof output === 'string'
      ? output.replace(/\p{Surrogate}/gu, '\uFFFD')
      : `(not text, but ${describe(output)})`;
  return { [key]: cut(text) } as { readonly [K in Key]?: string };
}

function cut(text: string): string {
  if (text.length <= maxOutput) return text;
  const half = maxOutput / 2;
  return `${text.slice(0, half)}\n... ${text.length - maxOutput} characters omitted ...\n${text.slice(-half)}`;
}
