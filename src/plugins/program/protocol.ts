import type { JsonObject } from '../../model/json.js';
import type { Task } from '../../model/node/task.js';
import type { ClientPlan } from '../clients.js';
import type { FailureKind } from '../errors.js';

/** Raised when what programs are told or may answer changes its meaning. */
export const protocolVersion = 1;

/** What one program may send, in bytes; what passes a limit ends the program. */
export const sizes = {
  /** One line: a request may carry a script or a file. */
  line: 16 * 1024 * 1024,
  /**
   * A result. That of a task is checked again, against a much smaller limit; a list of machines may be long.
   */
  result: 4 * 1024 * 1024,
  /** Everything of one call. */
  call: 256 * 1024 * 1024,
  /** What is read of one call's words for people; of the rest only the end is kept. */
  log: 512 * 1024,
  /** One log line. */
  logLine: 8 * 1024,
  /** The end of very many words. */
  lastWords: 1024,
  /** Answers that wait for a program that does not read them. */
  unread: 64 * 1024 * 1024,
} as const;

/** Lines of one call that are not for people. */
export const maxLines = 100_000;

/** Log lines of one call that are written. */
export const maxLogLines = 5_000;

/** Requests of one call that may be under way at the same time. */
export const maxRequests = 8;

/** What a program is asked, as one line: the task, and which of the plugin's methods it stands for. */
export interface CallMessage extends Task {
  readonly protocol: typeof protocolVersion;
  readonly call: string;
  /** The method's arguments, by name. */
  readonly input: JsonObject;
}

/** What the plugin host is asked besides: the arguments as the method gets them. */
export interface HostCall extends CallMessage {
  readonly arguments: readonly unknown[];
  readonly fields: JsonObject;
  readonly claims: boolean;
  /** Whether the account's calls are to be waited for. */
  readonly calls: boolean;
  /** Whether the method carries out an action; what an ability returns is no result of a task. */
  readonly isAction: boolean;
  /** Name of the plugin, for messages. */
  readonly plugin: string;
}

/** The first message to a plugin host, and its answer. */
export interface LoadMessage {
  readonly load: { readonly entry: string; readonly class: string; readonly clients: ClientPlan };
}
export type LoadAnswer =
  | { readonly loaded: { readonly methods: readonly string[]; readonly drains: boolean } }
  | { readonly failed: string };

/** The last message to a plugin host that has clients: it stops them, and ends. */
export interface DrainMessage {
  readonly drain: true;
}

/** Sent when the call is over for the engine: end what was begun, and soon. */
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
] as const;
export type RequestName = (typeof requestNames)[number];

/** What a program asks of the engine while it works. */
export interface RequestMessage extends JsonObject {
  readonly id: number;
  readonly request: string;
}

export type ReplyMessage =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: ErrorMessage };

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LogMessage {
  readonly log: LogLevel;
  readonly message: string;
  readonly attributes?: JsonObject;
}

/** A failure on the wire: a kind of the contract, or Internal for what is a fault of the plugin. */
export interface ErrorMessage {
  readonly kind: FailureKind | 'Internal';
  readonly message: string;
  readonly retryAfterMs?: number;
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly cause?: { readonly name: string; readonly message: string; readonly stack?: string };
}
