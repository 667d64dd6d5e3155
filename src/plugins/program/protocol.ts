import type { Json, JsonObject } from '../../model/json.js';
import type { Task } from '../../model/node/task.js';
import type { ClientPlan } from '../clients.js';
import type { FailureKind } from '../errors.js';

/** Raised when a message changes its meaning. */
const protocolVersion = 1;

/** Limits of one call. A program that exceeds one of the first six is killed. Sizes are in characters. */
export const limits = {
  /** One line: a request may carry a script or a file. */
  line: 16 * 1024 * 1024,
  /** Lines other than those for people. */
  lines: 100_000,
  /** A result; a task's result has a much smaller limit besides, a list of machines may be long. */
  result: 4 * 1024 * 1024,
  /** All output. */
  call: 256 * 1024 * 1024,
  /** Replies that the program has not read. */
  unread: 64 * 1024 * 1024,
  /** Concurrent requests; further ones are refused. */
  requests: 8,
  /** Output for people; after that only its end is kept. */
  log: 512 * 1024,
  logLine: 8 * 1024,
  logLines: 5_000,
  /** The end of the output for people, for messages. */
  lastWords: 1024,
} as const;

/** One line to a program: the task, and the plugin method to call. */
export function callMessage(call: string, input: JsonObject, task: Task): object {
  // Programs that cannot read JSON rely on this order.
  return { protocol: protocolVersion, call, input, ...task };
}

/** A call of a plugin host, which has the class itself. */
export interface HostCall {
  readonly call: string;
  readonly arguments: readonly unknown[];
  readonly task: Task;
  readonly fields: JsonObject;
  /** Whether the task has claims, a limit of calls, and a record of CREATE. */
  readonly claims: boolean;
  readonly calls: boolean;
  readonly record: boolean;
  /** Whether the method carries out an action; an ability may return any JSON. */
  readonly isAction: boolean;
  /** Functions that the first argument has besides: the host makes requests of them. */
  readonly functions: readonly InputFunction[];
}

/** The first message to a plugin host. */
export interface LoadMessage {
  readonly load: { readonly entry: string; readonly class: string; readonly clients: ClientPlan };
}

export type LoadAnswer =
  | { readonly methods: readonly string[]; readonly drains: boolean }
  | { readonly failed: string };

/** The last message to a plugin host with clients: it stops them, and exits. */
export interface DrainMessage {
  readonly drain: true;
}

/** The call is over for the engine; the program has a second to end what it began. */
export interface CancelMessage {
  readonly cancel: string;
}

export const requestNames = [
  'run',
  'exec',
  'putFile',
  'secret',
  'claims.take',
  'claims.release',
  'claims.held',
  'calls.take',
  'record.read',
  'record.write',
  'progress',
  'resetNode',
] as const;
export type RequestName = (typeof requestNames)[number];

/** Functions of an ability's input. Only a request can cross to another process. */
export const inputFunctions = ['progress', 'resetNode'] as const;
export type InputFunction = (typeof inputFunctions)[number];

/** What a program asks of the engine during a call. */
export interface RequestMessage extends JsonObject {
  readonly id: number;
  readonly request: string;
}

export type ReplyMessage =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: ErrorMessage };

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** A failure on the wire: a kind of the contract, or Internal for a fault of the plugin. */
export interface ErrorMessage {
  readonly kind: FailureKind | 'Internal';
  readonly message: string;
  readonly retryAfterMs?: number;
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly cause?: { readonly name: string; readonly message: string; readonly stack?: string };
}

/** The JSON object of a line; undefined for anything else. */
export function parseObject(line: string): JsonObject | undefined {
  const text = line.trim();
  if (!text.startsWith('{') || !text.endsWith('}')) return undefined;
  try {
    return JSON.parse(text) as { readonly [key: string]: Json };
  } catch {
    return undefined;
  }
}

/** Splits a stream of text into lines. */
export class LineSplitter {
  readonly #maxLength: number;
  readonly #onLine: (line: string) => void;
  #rest = '';

  constructor(maxLength: number, onLine: (line: string) => void) {
    this.#maxLength = maxLength;
    this.#onLine = onLine;
  }

  /** @returns false when a line is too long; nothing may be pushed after that. */
  push(text: string): boolean {
    const [first = '', ...others] = text.split('\n');
    const lines = [this.#rest + first, ...others];
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
    return this.#rest.length <= this.#maxLength;
  }

  /** Passes on the last line if no line feed ended it. */
  end(): void {
    if (this.#rest !== '') this.push('\n');
  }
}
