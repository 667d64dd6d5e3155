import { z } from 'zod';
import { isJsonObject, type Json } from '../../model/json.js';
import { copyPlainJson } from '../../schema/plain-json.js';
import { quoteValue } from '../../schema/problem.js';
import { parseResult, type ParsedResult } from '../../schema/result.js';
import { failureKinds, PluginError, ProgramFault } from '../errors.js';
import { limits } from './protocol.js';
import type { Finish } from './session.js';

const text = z.string().transform((value) => value.slice(0, limits.logLine));
const errorSchema = z.strictObject({
  kind: z.enum([...failureKinds, 'Internal']),
  message: z.string().min(1).pipe(text),
  retryAfterMs: z.number().min(0).exactOptional(),
  exitCode: z.int().exactOptional(),
  stdout: z.string().exactOptional(),
  stderr: z.string().exactOptional(),
  cause: z.strictObject({ name: text, message: text, stack: text.exactOptional() }).exactOptional(),
});

/**
 * The result of an action. A status other than 0 without an `error` is left to the engine.
 * @throws PluginError as the program reports it, or Invalid; ProgramFault when it gave no result.
 */
export function readResult(finish: Finish, plugin: string): ParsedResult {
  const document = readDocument(finish, plugin);
  if (!isJsonObject(document)) return parseResult(document, { plugin, requireStatus: true });
  const { error, ...rest } = document;
  const parsed = parseResult(rest, { plugin, requireStatus: true });
  checkStatus(finish, plugin, parsed, error);
  return parsed;
}

/** What an ability returned: any JSON under `result`. @throws as `readResult` does, also for other statuses. */
export function readAbility(finish: Finish, plugin: string, method: string): Json | undefined {
  const document = readDocument(finish, plugin);
  const { error, result = null, ...rest } = isJsonObject(document) ? document : {};
  const parsed = parseResult(isJsonObject(document) ? rest : document, { plugin, requireStatus: true });
  checkStatus(finish, plugin, parsed, error);
  if (parsed.status !== 0)
    throw new PluginError('Invalid', `plugin ${plugin} ended ${method} with status ${parsed.status}`);
  const copy = copyPlainJson(result, { bytes: limits.result, depth: 16 });
  if (copy.ok) return copy.value ?? undefined;
  const faults = copy.problems.map(({ path, wrong }) => `result.${path.join('.')} ${wrong}`);
  throw invalid(plugin, faults.join('; '));
}

function readDocument({ text: written, end, lastWords }: Finish, plugin: string): Json {
  const said = lastWords === '' ? '' : `; it last said: ${lastWords}`;
  const failed = end?.exitCode !== 0 && end !== undefined;
  if (end?.fault !== undefined || (written === '' && failed))
    throw new ProgramFault(`plugin ${plugin} gave no result: its program ${end?.words}${said}`);
  if (written === '' && end !== undefined) {
    if (lastWords === '') return {};
    throw invalid(
      plugin,
      `status is missing: its program printed nothing. A program must give it: 0 for success${said}`,
    );
  }
  try {
    return JSON.parse(written) as Json;
  } catch {
    if (failed && end.exitCode !== undefined)
      throw new ProgramFault(
        `plugin ${plugin} gave no result: its program ${end.words}, and printed ${quoteValue(written)}${said}`,
      );
    throw invalid(
      plugin,
      `its program printed what is not JSON: ${quoteValue(written)}. Print one result on standard output, and everything for people on standard error`,
    );
  }
}

/** Throws the program's `error`, and refuses a success that the exit code contradicts. */
function checkStatus(
  { end }: Finish,
  plugin: string,
  { status, result, stdout, stderr }: ParsedResult,
  error: Json | undefined,
): void {
  if (error === undefined) {
    if (status === 0 && end !== undefined && end.exitCode !== 0)
      throw new ProgramFault(`plugin ${plugin} gave status 0, but its program ${end.words}`);
    return;
  }
  const parsed = errorSchema.safeParse(error);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(
      ({ path, message }) => `${['error', ...path].join('.')}: ${message}`,
    );
    throw invalid(
      plugin,
      `${faults.join('; ')}. error is {kind, message, retryAfterMs?}; kinds are ${failureKinds.join(', ')}`,
    );
  }
  if (status === 0) throw invalid(plugin, 'status is 0, yet there is an error');
  const { kind, message, cause, ...known } = parsed.data;
  if (kind === 'Internal') throw Object.assign(new Error(message), cause, { message });
  throw new PluginError(kind, message, {
    stdout,
    stderr,
    ...known,
    result,
    cause: cause && Object.assign(new Error(cause.message), cause),
  });
}

function invalid(plugin: string, wrong: string): PluginError {
  return new PluginError('Invalid', `plugin ${plugin} returned no valid result: ${wrong}`);
}
