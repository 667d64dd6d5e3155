import { anySignal } from '../../model/signals.js';
import type { Json, JsonObject } from '../../model/json.js';
import type { Descriptor } from '../../schema/descriptor.js';
import type { ParsedResult } from '../../schema/result.js';
import type { PluginContext, Shell } from '../contract.js';
import { PluginError, ProgramFault } from '../errors.js';
import type { Call, Finish } from './converse.js';
import { requestNames, protocolVersion, type CallMessage, type HostCall } from './protocol.js';
import { readAbility, readResult } from './read-answer.js';
import type { Reservation, Runner } from './runner.js';

/** What the engine knows of an attempt besides what every plugin may see. */
export interface AttemptContext {
  /** Aborted when the attempt lets go without ending what goes on at the node. */
  readonly detach?: AbortSignal;
  /** When the attempt's time is over, in ms since the epoch. */
  readonly endsAt?: number;
  /** Resolves a secret reference that stands in the task. */
  readonly resolveSecret?: (reference: string) => Promise<string>;
  readonly reservation?: Reservation;
}

export type ProgramContext = PluginContext & AttemptContext & { readonly shell?: Shell };

/** What the calls of one plugin have in common. */
export interface Invocation {
  readonly descriptor: Descriptor;
  readonly runner: Runner;
  /** Whether the calls go to our own plugin host, which knows the method's arguments as they are. */
  readonly hosted: boolean;
  /** Longest time of a call, in ms, where one is set. */
  readonly timeMs?: number;
}

export interface Method {
  readonly name: string;
  readonly arguments: readonly unknown[];
  /** The arguments by name. */
  readonly input: JsonObject;
}

/** Carries out an action; gives its result as it was parsed. @throws PluginError, ProgramFault */
export async function invokeAction(
  invocation: Invocation,
  context: ProgramContext,
  method: Method,
): Promise<ParsedResult> {
  const finish = await invoke(invocation, context, method, true);
  return readResult(finish, { plugin: invocation.descriptor.name, call: method.name });
}

/** Asks for an ability; gives what it answered. @throws PluginError, ProgramFault */
export async function invokeAbility(
  invocation: Invocation,
  context: ProgramContext,
  method: Method,
): Promise<Json | undefined> {
  const finish = await invoke(invocation, context, method, false);
  return readAbility(finish, { plugin: invocation.descriptor.name, call: method.name });
}

async function invoke(
  invocation: Invocation,
  context: ProgramContext,
  method: Method,
  isAction: boolean,
): Promise<Finish> {
  const { descriptor, runner, hosted, timeMs } = invocation;
  const { signal, log, shell, claims, calls, resolveSecret, detach } = context;
  const attempt = anySignal([signal, ...(detach === undefined ? [] : [detach]), ...endOf(context)]);
  const reservation = await reserve(invocation, context, attempt);
  // The call's own time begins when a process is there for it.
  const stop = timeMs === undefined ? attempt : anySignal([attempt, AbortSignal.timeout(timeMs)]);
  const call: Call = {
    message: hosted ? hostCall(context, method, isAction, descriptor.name) : callMessage(context, method),
    allowed: hosted ? requestNames : descriptor.requests,
    services: { shell, claims, calls, secret: resolveSecret },
    log,
    stop,
  };
  const finish = await runner.run(call, reservation);
  // What was answered at the last moment counts.
  const answered = finish.text !== '' && (finish.end === undefined || finish.end.exitCode === 0);
  if (!stop.aborted || answered) return finish;
  // Cancelled, what it runs on the node is being ended: that is waited for. Otherwise another attempt takes
  // it over.
  if (signal.aborted && !isTimeout(signal)) await finish.pending;
  const why = isTimeout(stop) ? `did not answer ${method.name} in time` : `was told to end in ${method.name}`;
  throw new ProgramFault(
    `plugin ${descriptor.name} ${why}; its program ${finish.end?.words ?? 'was ended'}${finish.lastWords === '' ? '' : `; it last said: ${finish.lastWords}`}`,
  );
}

/** A second call of the same attempt finds its reservation spent. */
async function reserve(
  { descriptor: { name }, runner }: Invocation,
  { reservation }: AttemptContext,
  attempt: AbortSignal,
): Promise<Reservation> {
  if (reservation?.spent() === false) return reservation;
  try {
    return await runner.reserve(attempt);
  } catch (error) {
    if (!isTimeout(attempt)) throw error;
    throw new PluginError(
      'Retryable',
      `plugin ${name}: none of its processes was free in time; let it have more by pluginLimits.${name}.processes in heddle.yaml`,
      { cause: error },
    );
  }
}

function endOf({ endsAt }: AttemptContext): readonly AbortSignal[] {
  return endsAt === undefined ? [] : [AbortSignal.timeout(Math.max(1, endsAt - Date.now()))];
}

function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}

function callMessage({ task }: ProgramContext, { name, input }: Method): CallMessage {
  return { protocol: protocolVersion, call: name, input, ...task };
}

function hostCall(context: ProgramContext, method: Method, isAction: boolean, plugin: string): HostCall {
  return {
    ...callMessage(context, { ...method, input: {} }),
    arguments: method.arguments,
    fields: context.fields,
    claims: context.claims !== undefined,
    calls: context.calls !== undefined,
    isAction,
    plugin,
  };
}
