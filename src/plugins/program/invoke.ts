import { z } from 'zod';
import { anySignal } from '../../model/signals.js';
import { isJsonObject, type Json, type JsonObject } from '../../model/json.js';
import type { Descriptor } from '../../schema/descriptor.js';
import { copyPlainJson } from '../../schema/plain-json.js';
import { quoteValue } from '../../schema/problem.js';
import { parseResult, type ParsedResult } from '../../schema/result.js';
import type { PluginContext, Shell } from '../contract.js';
import { failureKinds, PluginError, ProgramFault } from '../errors.js';
import type { ProgramPool, Reservation } from './pool.js';
import {
  callMessage,
  inputFunctions,
  limits,
  requestNames,
  type HostCall,
  type InputFunction,
} from './protocol.js';
import type { Services } from './requests.js';
import type { Finish } from './session.js';

/** The engine's data of an attempt that is not in the plugin's context. */
export interface AttemptContext {
  /** Aborted when the attempt ends and the work on the node continues. */
  readonly detach?: AbortSignal;
  /** When the attempt times out, in ms since the epoch. */
  readonly endsAt?: number;
  /** Resolves a secret reference that occurs in the task. */
  readonly resolveSecret?: (reference: string) => Promise<string>;
  readonly reservation?: Reservation;
}

export type ProgramContext = PluginContext & AttemptContext & { readonly shell?: Shell };

/** A plugin that runs in processes of its own. */
export interface ProgramPlugin {
  readonly descriptor: Descriptor;
  readonly pool: ProgramPool;
  /**
   * The version of the protocol for programs; undefined for plugin hosts, which receive a method's arguments
   * unchanged.
   */
  readonly protocol: number | undefined;
  /** Timeout of a call, in ms. */
  readonly timeMs?: number;
}

export interface Method {
  readonly name: string;
  readonly arguments: readonly unknown[];
  /** The arguments by name, for programs. */
  readonly input: JsonObject;
}

/** Performs an action. @throws PluginError, ProgramFault */
export async function invokeAction(
  plugin: ProgramPlugin,
  context: ProgramContext,
  method: Method,
): Promise<ParsedResult> {
  return readResult(await invoke(plugin, context, method, true), plugin.descriptor.name);
}

/** Calls the method of an ability. @throws PluginError, ProgramFault */
export async function invokeAbility(
  plugin: ProgramPlugin,
  context: ProgramContext,
  method: Method,
): Promise<Json | undefined> {
  return readAbility(await invoke(plugin, context, method, false), plugin.descriptor.name, method.name);
}

async function invoke(
  plugin: ProgramPlugin,
  context: ProgramContext,
  method: Method,
  isAction: boolean,
): Promise<Finish> {
  const { descriptor, protocol, timeMs } = plugin;
  const { task, fields, signal, log, shell, claims, calls, record, resolveSecret, detach, endsAt } = context;
  const attempt = anySignal([
    signal,
    ...(detach === undefined ? [] : [detach]),
    ...(endsAt === undefined ? [] : [AbortSignal.timeout(Math.max(1, endsAt - Date.now()))]),
  ]);
  const reservation = await reserve(plugin, context, attempt);
  // The call's timeout starts when a process is ready for it.
  const stop = timeMs === undefined ? attempt : anySignal([attempt, AbortSignal.timeout(timeMs)]);
  const functions = functionsOf(method);
  const hostCall: HostCall = {
    call: method.name,
    arguments: method.arguments,
    task,
    fields,
    claims: claims !== undefined,
    calls: calls !== undefined,
    record: record !== undefined,
    isAction,
    functions: inputFunctions.filter((name) => functions[name] !== undefined),
  };
  const finish = await reservation.run({
    message: protocol === undefined ? hostCall : callMessage(protocol, method.name, method.input, task),
    allowed: protocol === undefined ? requestNames : descriptor.requests,
    services: { shell, claims, calls, record, secret: resolveSecret, ...functions },
    log,
    stop,
  });
  // Accept an answer at the last moment.
  const answered = finish.text !== '' && (finish.end === undefined || finish.end.exitCode === 0);
  if (!stop.aborted || answered) return finish;
  // A cancelled task waits until what it runs on the node has ended; otherwise the next attempt adopts that.
  if (signal.aborted && !isTimeout(signal)) await finish.pending;
  const hung = isTimeout(stop);
  if (hung && finish.waited)
    throw new PluginError(
      'Retryable',
      `plugin ${descriptor.name} was still waiting for a request to the engine when ${method.name} timed out`,
    );
  const why = hung ? `hangs: it did not answer ${method.name} in time` : `was cancelled in ${method.name}`;
  const said = finish.lastWords === '' ? '' : `; its last output: ${finish.lastWords}`;
  throw new ProgramFault(
    `plugin ${descriptor.name} ${why}; its program ${finish.end?.words ?? 'was ended'}${said}`,
    { hung },
  );
}

/** The functions of an ability's input, whose types the contract defines. */
function functionsOf({ arguments: [input] }: Method): Pick<Services, InputFunction> {
  if (typeof input !== 'object' || input === null) return {};
  return Object.fromEntries(
    inputFunctions
      .map((name) => [name, Reflect.get(input, name) as unknown] as const)
      .filter(([, value]) => typeof value === 'function'),
  );
}

/** A second call of the same attempt needs its own reservation. */
async function reserve(
  { descriptor: { name }, pool }: ProgramPlugin,
  { reservation }: AttemptContext,
  attempt: AbortSignal,
): Promise<Reservation> {
  if (reservation?.isReleased() === false) return reservation;
  try {
    return await pool.reserve(attempt);
  } catch (cause) {
    if (!isTimeout(attempt)) throw cause;
    throw new PluginError(
      'Retryable',
      `plugin ${name}: none of its processes was free in time; raise pluginLimits.${name}.processes in heddle.yaml`,
      { cause },
    );
  }
}

function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}

const text = z.string().transform((value) => value.slice(0, limits.logLine));
const errorSchema = z.strictObject({
  kind: z.enum([...failureKinds, 'Internal']),
  message: z.string().min(1).pipe(text),
  retryAfterMs: z.number().min(0).exactOptional(),
  exitCode: z.int().exactOptional(),
  remedy: text.exactOptional(),
  stdout: z.string().exactOptional(),
  stderr: z.string().exactOptional(),
  cause: z.strictObject({ name: text, message: text, stack: text.exactOptional() }).exactOptional(),
});

/**
 * The result of an action. The engine handles a status other than 0 without an `error`.
 * @throws PluginError as the program reports it, or Invalid; ProgramFault if it returned no result.
 */
function readResult(finish: Finish, plugin: string): ParsedResult {
  const document = readDocument(finish, plugin);
  if (!isJsonObject(document)) return parseResult(document, { plugin, requireStatus: true });
  const { error, ...rest } = document;
  const parsed = parseResult(rest, { plugin, requireStatus: true });
  checkStatus(finish, plugin, parsed, error);
  return parsed;
}

/**
 * The return value of an ability: any JSON under `result`.
 * @throws like `readResult`, and also for other statuses.
 */
function readAbility(finish: Finish, plugin: string, method: string): Json | undefined {
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

function readDocument({ text: written, end, broken, lastWords }: Finish, plugin: string): Json {
  if (broken !== undefined) throw invalid(plugin, broken);
  const said = lastWords === '' ? '' : `; its last output: ${lastWords}`;
  const failed = end?.exitCode !== 0 && end !== undefined;
  if (end?.fault !== undefined || (written === '' && failed))
    throw new ProgramFault(`plugin ${plugin} returned no result: its program ${end?.words}${said}`);
  if (written === '' && end !== undefined) {
    if (lastWords === '') return {};
    throw invalid(
      plugin,
      `status is missing: its program printed nothing. It must print a status, which is 0 for success${said}`,
    );
  }
  try {
    return JSON.parse(written) as Json;
  } catch {
    if (failed && end.exitCode !== undefined)
      throw new ProgramFault(
        `plugin ${plugin} returned no result: its program ${end.words}, and printed ${quoteValue(written)}${said}`,
      );
    throw invalid(
      plugin,
      `its program's output is not JSON: ${quoteValue(written)}. Print one result on standard output, and log output on standard error`,
    );
  }
}

/** Throws the program's `error`, and rejects a success that contradicts the exit code. */
function checkStatus(
  { end }: Finish,
  plugin: string,
  { status, result, stdout, stderr }: ParsedResult,
  error: Json | undefined,
): void {
  if (error === undefined) {
    if (status === 0 && end !== undefined && end.exitCode !== 0)
      throw new ProgramFault(`plugin ${plugin} returned status 0, but its program ${end.words}`);
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
  if (status === 0) throw invalid(plugin, 'status is 0, but error is set');
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
