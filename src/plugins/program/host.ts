import { Socket } from 'node:net';
import pLimit from 'p-limit';
import { copyPlainJson } from '../../schema/plain-json.js';
import { formatPath } from '../../schema/problem.js';
import { parseResult } from '../../schema/result.js';
import type {
  Calls,
  Claims,
  CreateRecord,
  JsonObject,
  Outcome,
  PluginContext,
  PluginLog,
  RunOutcome,
  Shell,
} from '../contract.js';
import { Clients } from '../clients.js';
import { failureKinds, isPluginError, PluginError } from '../errors.js';
import { loadClass, type LoadedClass } from '../load-class.js';
import {
  limits,
  LineSplitter,
  type CancelMessage,
  type DrainMessage,
  type ErrorMessage,
  type HostCall,
  type InputFunction,
  type LoadAnswer,
  type LoadMessage,
  type LogLevel,
  type ReplyMessage,
  type RequestName,
} from './protocol.js';

// The plugin host: a process that loads the class of one plugin and serves its calls, one at a time. File
// descriptor 3 connects it to the worker; standard output and error are the plugin's log output.

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The engine's services in a plugin host: each method is a request to the worker. */
class HostServices {
  readonly #send: (message: object) => void;
  readonly #waiting = new Map<number, Waiting>();
  /** A class may send any number of concurrent requests; requests beyond the worker's limit wait here. */
  readonly #limit = pLimit(limits.requests);
  #lastId = 0;

  constructor(send: (message: object) => void) {
    this.#send = send;
  }

  readonly shell: Shell = {
    run: (script) => this.#ask<RunOutcome>('run', script),
    exec: (command, options) => this.#ask<RunOutcome>('exec', { command, ...options }),
    putFile: (path, content, options) => {
      const body =
        typeof content === 'string' ? { content } : { base64: Buffer.from(content).toString('base64') };
      return this.#ask('putFile', { path, ...body, ...options });
    },
  };

  readonly claims: Claims = {
    take: async (key, candidates) =>
      (await this.#ask<string | null>('claims.take', { key, candidates })) ?? undefined,
    release: (key) => this.#ask('claims.release', { key }),
    held: () => this.#ask('claims.held', {}),
  };

  readonly calls: Calls = { take: () => this.#ask('calls.take', {}) };

  readonly record: CreateRecord = {
    read: async () => (await this.#ask<JsonObject | null>('record.read', {})) ?? undefined,
    write: (made) => this.#ask('record.write', { made }),
  };

  /** Functions, which JSON cannot represent. */
  readonly input = {
    progress: (text: string): void =>
      void this.#ask('progress', { text: text.slice(0, 512) || '-' }).catch(() => undefined),
    resetNode: (): Promise<Outcome> => this.#ask('resetNode', {}),
  } satisfies Record<InputFunction, unknown>;

  /** Delivers a reply of the worker to the waiting request. */
  settle(reply: ReplyMessage): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('error' in reply) waiting?.reject(revive(reply.error));
    else waiting?.resolve(reply.result);
  }

  #ask<Result>(request: RequestName, fields: object): Promise<Result> {
    return this.#limit(() => {
      this.#lastId += 1;
      const id = this.#lastId;
      return new Promise<Result>((resolve, reject) => {
        this.#waiting.set(id, { resolve: (result) => resolve(result as Result), reject });
        this.#send({ ...fields, id, request });
      });
    });
  }
}

function revive({ kind, message, ...known }: ErrorMessage): Error {
  const failure = failureKinds.find((candidate) => candidate === kind);
  return failure === undefined ? new Error(message) : new PluginError(failure, message, known);
}

type HostContext = PluginContext & { readonly shell: Shell };

interface Plugin extends LoadedClass<HostContext, object> {
  readonly name: string;
  readonly clients: Clients;
}

type Message = LoadMessage | HostCall | ReplyMessage | DrainMessage | CancelMessage;

const link = new Socket({ fd: 3 });
const services = new HostServices(send);
let loading: Promise<Plugin> = Promise.reject(new Error('nothing is loaded'));
loading.catch(() => undefined);
let cancelling = new AbortController();

const lines = new LineSplitter(Infinity, (line) => void receive(JSON.parse(line) as Message));
link.setEncoding('utf8').on('data', (text: string) => void lines.push(text));
// Exit with the worker.
link.on('close', () => process.exit());
link.on('error', () => process.exit());

function send(message: object): void {
  link.write(`${JSON.stringify(message)}\n`);
}

async function receive(message: Message): Promise<void> {
  if ('id' in message) return services.settle(message);
  if ('cancel' in message) return cancelling.abort(new Error(message.cancel));
  if ('load' in message) {
    loading = load(message.load);
    return send(await loadAnswer());
  }
  if ('drain' in message) {
    await loading.then(({ clients }) => clients.close()).catch(() => undefined);
    process.exit();
  }
  cancelling = new AbortController();
  send(await answer(await loading, message, cancelling.signal));
}

async function load({ entry, class: className, clients }: LoadMessage['load']): Promise<Plugin> {
  const loaded = await loadClass<HostContext, object>(entry, className);
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  return { ...loaded, name: clients.plugin, clients: new Clients(clients, loaded.Class, say) };
}

function loadAnswer(): Promise<LoadAnswer> {
  return loading.then(
    ({ methods, clients: { drains } }) => ({ methods, drains }),
    (error: unknown) => ({ failed: error instanceof Error ? error.message : String(error) }),
  );
}

/** Serves a call; every failure is returned as an answer. */
async function answer(
  { Class, name, clients }: Plugin,
  call: HostCall,
  signal: AbortSignal,
): Promise<object> {
  const { task, fields } = call;
  try {
    const plugin = new Class({
      task,
      fields,
      signal,
      log,
      client: clients.openerOf({ task, fields, log }),
      shell: services.shell,
      claims: call.claims ? services.claims : undefined,
      calls: call.calls ? services.calls : undefined,
      record: call.record ? services.record : undefined,
    });
    const method: unknown = Reflect.get(plugin, call.call);
    if (typeof method !== 'function')
      throw new PluginError('Invalid', `the plugin does not implement method ${call.call}`);
    const returned: unknown = await Reflect.apply(method, plugin, withFunctions(call));
    return call.isAction ? actionAnswer(returned, name) : abilityAnswer(returned, name);
  } catch (error) {
    return failureAnswer(error);
  }
}

function withFunctions({ arguments: [input, ...others], functions }: HostCall): readonly unknown[] {
  if (functions.length === 0) return [input, ...others];
  const added = Object.fromEntries(functions.map((name) => [name, services.input[name]]));
  return [{ ...(input as object), ...added }, ...others];
}

// Results are validated here, because only plain JSON can be sent and messages should name the field.

function actionAnswer(returned: unknown, plugin: string): object {
  const { status = 0, ...result } = parseResult(returned, { plugin });
  return { status, ...result };
}

function abilityAnswer(returned: unknown, plugin: string): object {
  const copy = copyPlainJson(returned ?? null, { bytes: limits.result, depth: 16 });
  if (copy.ok) return { status: 0, result: copy.value };
  const faults = copy.problems.map(({ path, wrong }) => `${formatPath(path)} ${wrong}`.trim());
  throw new PluginError(
    'Invalid',
    `plugin ${plugin} returned a value that is not plain JSON: ${faults.join('; ')}`,
  );
}

function failureAnswer(thrown: unknown): object {
  if (!isPluginError(thrown)) return { status: 1, error: internalError(thrown) };
  const { kind, message, retryAfterMs, exitCode, remedy, stdout, stderr, cause, result } = thrown;
  const error = { kind, message, retryAfterMs, exitCode, remedy, stdout, stderr, cause: causeOf(cause) };
  const copy = plainCopy({ status: 1, error, result }) ?? plainCopy({ status: 1, error });
  return copy ?? { status: 1, error: internalError(thrown) };
}

function internalError(thrown: unknown): ErrorMessage {
  if (thrown instanceof Error)
    return {
      kind: 'Internal',
      message: textOf(thrown.message) || textOf(thrown.name),
      cause: causeOf(thrown),
    };
  const text = typeof thrown === 'string' ? `"${thrown}"` : textOf(thrown);
  return { kind: 'Internal', message: `threw ${text || `a ${typeof thrown}`}` };
}

function causeOf(error: unknown): ErrorMessage['cause'] {
  if (!(error instanceof Error)) return undefined;
  return { name: textOf(error.name), message: textOf(error.message), stack: textOf(error.stack) };
}

/** A value of any type as text; '' when its own conversion throws. */
function textOf(value: unknown): string {
  try {
    return String(value).slice(0, limits.logLine);
  } catch {
    return '';
  }
}

function plainCopy(value: object): object | undefined {
  const copy = copyPlainJson(value, { bytes: limits.result, depth: 16 });
  return copy.ok ? (copy.value as object) : undefined;
}

function logAs(level: LogLevel): PluginLog[LogLevel] {
  return (message, attributes) => {
    const sent = attributes && (plainCopy(attributes) ?? '(attributes that are not plain JSON)');
    send({ log: level, message: String(message), attributes: sent });
  };
}

const log: PluginLog = {
  debug: logAs('debug'),
  info: logAs('info'),
  warn: logAs('warn'),
  error: logAs('error'),
};
