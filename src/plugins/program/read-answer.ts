import { z } from 'zod';
import { isJsonObject, type Json } from '../../model/json.js';
import { copyPlainJson } from '../../schema/plain-json.js';
import { quoteValue } from '../../schema/problem.js';
import { parseResult, type ParsedResult } from '../../schema/result.js';
import { failureKinds, PluginError, ProgramFault } from '../errors.js';
import type { Finish } from './converse.js';
import { sizes } from './protocol.js';

/** Who answered what, for messages. */
export interface AnswerSource {
  readonly plugin: string;
  /** The method. */
  readonly call: string;
}

const errorSchema = z.strictObject({
  kind: z.enum([...failureKinds, 'Internal']),
  message: z
    .string()
    .min(1)
    .max(16 * 1024),
  retryAfterMs: z.number().min(0).exactOptional(),
  exitCode: z.int().exactOptional(),
  stdout: z.string().exactOptional(),
  stderr: z.string().exactOptional(),
  cause: z
    .strictObject({ name: z.string(), message: z.string(), stack: z.string().exactOptional() })
    .exactOptional(),
});

/** The result of a task. A status other than 0 without an `error` is left to the engine. */
export function readResult(finish: Finish, source: AnswerSource): ParsedResult {
  const document = readDocument(finish, source);
  const { error, ...rest } = isJsonObject(document) ? document : { error: undefined };
  const parsed = parseResult(isJsonObject(document) ? rest : document, {
    plugin: source.plugin,
    requireStatus: true,
  });
  if (error !== undefined) throwError(error, parsed, source);
  refuseContradiction(finish, parsed.status, source);
  return parsed;
}

/** What an ability gives: any JSON under `result`; a failure is thrown. */
export function readAbility(finish: Finish, source: AnswerSource): Json | undefined {
  const document = readDocument(finish, source);
  const { error, result, ...rest } = isJsonObject(document) ? document : {};
  const parsed = parseResult(isJsonObject(document) ? rest : document, {
    plugin: source.plugin,
    requireStatus: true,
  });
  if (error !== undefined) throwError(error, parsed, source);
  if (parsed.status !== 0)
    throw new PluginError(
      'Invalid',
      `plugin ${source.plugin} ended ${source.call} with status ${parsed.status}`,
    );
  refuseContradiction(finish, parsed.status, source);
  const copy = copyPlainJson(result ?? null, { bytes: sizes.result, depth: 16 });
  if (!copy.ok)
    throw invalid(
      source,
      copy.problems.map(({ path, wrong }) => `result.${path.join('.')} ${wrong}`).join('; '),
    );
  return copy.value === null ? undefined : copy.value;
}

function readDocument({ text, end, lastWords }: Finish, source: AnswerSource): Json {
  const said = lastWords === '' ? '' : `; it last said: ${lastWords}`;
  if (end !== undefined && (end.fault !== undefined || (text === '' && end.exitCode !== 0))) {
    throw new ProgramFault(`plugin ${source.plugin} gave no result: its program ${end.words}${said}`);
  }
  if (text === '' && end !== undefined) {
    if (lastWords === '') return {};
    throw invalid(
      source,
      `status is missing: its program printed nothing. A program must give it: 0 for success${said}`,
    );
  }
  try {
    return JSON.parse(text) as Json;
  } catch {
    if (end?.exitCode !== undefined && end.exitCode !== 0)
      throw new ProgramFault(
        `plugin ${source.plugin} gave no result: its program ${end.words}, and printed ${quoteValue(text)}${said}`,
      );
    throw invalid(
      source,
      `its program printed what is not JSON: ${quoteValue(text)}. Print one result on standard output, and everything for people on standard error`,
    );
  }
}

function throwError(
  written: Json,
  { status, result, stdout, stderr }: ParsedResult,
  source: AnswerSource,
): never {
  const parsed = errorSchema.safeParse(written);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(
      ({ path, message }) => `${['error', ...path].join('.')}: ${message}`,
    );
    throw invalid(
      source,
      `${faults.join('; ')}. error is {kind, message, retryAfterMs?}; kinds are ${failureKinds.join(', ')}`,
    );
  }
  if (status === 0) throw invalid(source, 'status is 0, yet there is an error');
  const { kind, message, cause, ...known } = parsed.data;
  if (kind === 'Internal') throw revive(message, cause);
  throw new PluginError(kind, message, {
    stdout,
    stderr,
    ...known,
    ...(result === undefined ? {} : { result }),
    ...(cause === undefined ? {} : { cause: revive(cause.message, cause) }),
  });
}

function revive(message: string, cause: z.output<typeof errorSchema>['cause']): Error {
  const error = new Error(message);
  if (cause !== undefined) error.name = cause.name;
  if (cause?.stack !== undefined) error.stack = cause.stack;
  return error;
}

/** A program that says it went well, and ends as if it had not. */
function refuseContradiction({ end }: Finish, status: number | undefined, source: AnswerSource): void {
  if (status !== 0 || end === undefined || end.exitCode === 0) return;
  throw new ProgramFault(`plugin ${source.plugin} gave status 0, but its program ${end.words}`);
}

function invalid({ plugin }: AnswerSource, wrong: string): PluginError {
  return new PluginError('Invalid', `plugin ${plugin} returned no valid result: ${wrong}`);
}
