import type { Json, JsonObject } from '../../model/json.js';
import type { Task } from '../../model/node/task.js';
import type { ClientPlan } from '../clients.js';
import type { FailureKind } from '../errors.js';

/** Limits of one call. A program that exceeds one of the first six is killed. Sizes are in characters. */
export const limits = {
  /** Length of a line; a request may contain a script or a file. */
  line: 16 * 1024 * 1024,
  /** Number of lines other than log lines. */
  lines: 100_000,
  /** Length of a result. A task's result has a much smaller limit; a list of machines may be long. */
  result: 4 * 1024 * 1024,
  /** Length of all output. */
  call: 256 * 1024 * 1024,
  /** Length of replies that the program has not read. */
  unread: 64 * 1024 * 1024,
  /** Concurrent requests; further ones are refused. */
  requests: 8,
  /** Length of log output; beyond it only the end is kept. */
  log: 512 * 1024,
  logLine: 8 * 1024,
  logLines: 5_000,
  /** Length of the end of the log output that messages quote. */
  lastWords: 1024,
} as const;

/** One line to a program: the task and the plugin method to call, in a version that the program speaks. */
export function callMessage(protocol: number, call: string, input: JsonObject, task: Task): object {
  // Programs without a JSON parser rely on this order.
  return { protocol, call, input, ...task };
}

/** A call of a plugin host, which contains the class. */
export interface HostCall {
  readonly call: string;
  readonly arguments: readonly unknown[];
  readonly task: Task;
  readonly fields: JsonObject;
  /** Whether the task has claims, a rate limit, and a record of CREATE. */
  readonly claims: boolean;
  readonly calls: boolean;
  readonly record: boolean;
  /** Whether the method performs an action; an ability may return any JSON. */
  readonly isAction: boolean;
  /** Functions of the first argument; the host turns them into requests. */
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

/** The engine has ended the call; the program has one second to stop its work. */
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

/** Functions of an ability's input, which cross to another process as requests. */
export const inputFunctions = ['progress', 'resetNode'] as const;
export type InputFunction = (typeof inputFunctions)[number];

/** A program's request to the engine during a call. */
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
  readonly remedy?: string;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly cause?: { readonly name: string; readonly message: string; readonly stack?: string };
}

/** The JSON object in a line; undefined for other text. */
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

  /** Emits the last line if it has no line feed. */
  end(): void {
    if (this.#rest !== '') this.push('\n');
  }
}
