import { anySignal } from '../../model/signals.js';
import type { Json, JsonObject } from '../../model/json.js';
import type { Descriptor } from '../../schema/descriptor.js';
import type { ParsedResult } from '../../schema/result.js';
import type { PluginContext, Shell } from '../contract.js';
import { PluginError, ProgramFault } from '../errors.js';
import { readAbility, readResult } from './answer.js';
import type { ProgramPool, Reservation } from './pool.js';
import { callMessage, requestNames, type HostCall } from './protocol.js';
import type { Finish } from './session.js';

/** What the engine knows of an attempt besides the plugin's context. */
export interface AttemptContext {
  /** Aborted when the attempt ends without ending what goes on at the node. */
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
  /** Whether the processes are plugin hosts, which get a method's arguments as they are. */
  readonly hosted: boolean;
  /** Longest time of a call, in ms. */
  readonly timeMs?: number;
}

export interface Method {
  readonly name: string;
  readonly arguments: readonly unknown[];
  /** The arguments by name, for programs. */
  readonly input: JsonObject;
}

/** Carries out an action. @throws PluginError, ProgramFault */
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
  const { descriptor, hosted, timeMs } = plugin;
  const { task, fields, signal, log, shell, claims, calls, resolveSecret, detach, endsAt } = context;
  const attempt = anySignal([
    signal,
    ...(detach === undefined ? [] : [detach]),
    ...(endsAt === undefined ? [] : [AbortSignal.timeout(Math.max(1, endsAt - Date.now()))]),
  ]);
  const reservation = await reserve(plugin, context, attempt);
  // The call's own time begins when a process is ready for it.
  const stop = timeMs === undefined ? attempt : anySignal([attempt, AbortSignal.timeout(timeMs)]);
  const hostCall: HostCall = {
    call: method.name,
    arguments: method.arguments,
    task,
    fields,
    claims: claims !== undefined,
    calls: calls !== undefined,
    isAction,
  };
  const finish = await reservation.run({
    message: hosted ? hostCall : callMessage(method.name, method.input, task),
    allowed: hosted ? requestNames : descriptor.requests,
    services: { shell, claims, calls, secret: resolveSecret },
    log,
    stop,
  });
  // An answer at the last moment counts.
  const answered = finish.text !== '' && (finish.end === undefined || finish.end.exitCode === 0);
  if (!stop.aborted || answered) return finish;
  // A cancelled task waits until what it runs on the node has ended; otherwise the next attempt adopts that.
  if (signal.aborted && !isTimeout(signal)) await finish.pending;
  const why = isTimeout(stop) ? `did not answer ${method.name} in time` : `was told to end in ${method.name}`;
  const said = finish.lastWords === '' ? '' : `; it last said: ${finish.lastWords}`;
  throw new ProgramFault(
    `plugin ${descriptor.name} ${why}; its program ${finish.end?.words ?? 'was ended'}${said}`,
  );
}

/** A second call of the same attempt needs a reservation of its own. */
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
      `plugin ${name}: none of its processes was free in time; let it have more by pluginLimits.${name}.processes in heddle.yaml`,
      { cause },
    );
  }
}

function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}
