import type { JsonObject } from '../model/json.js';
import type { AllocatedNode } from '../model/pool/allocated.js';
import type { NodeDemand } from '../model/pool/request.js';
import type { RequestView } from '../model/pool/view.js';

// What the engine gives to plugins.

export interface PluginLog {
  debug(message: string, attributes?: JsonObject): void;
  info(message: string, attributes?: JsonObject): void;
  warn(message: string, attributes?: JsonObject): void;
  error(message: string, attributes?: JsonObject): void;
}

/** A node, as automators reach it. Implemented over SSH; a plugin never sees the connection. */
export interface Shell {
  /**
   * Runs a script exactly once for this task and run: a later attempt waits for the same execution and reads
   * its outcome. Output is streamed to the task's log.
   * @throws PluginError Retryable if the node cannot be reached (the script may be running: nothing starts
   * twice), ScriptFailed if it died with its machine, UnknownOutcome if its outcome is lost.
   */
  run(script: Script): Promise<RunOutcome>;
  /** Runs a short command that is safe to repeat. No shell interprets its words. */
  exec(
    command: readonly string[],
    options?: { readonly stdin?: string; readonly timeoutMs?: number },
  ): Promise<RunOutcome>;
  /** Writes a file atomically. */
  putFile(path: string, content: string | Uint8Array, options?: { readonly mode?: number }): Promise<void>;
}

/** HEDDLE_RUN names the private folder of the run, which is emptied when the script ends. */
export interface Script {
  readonly text: string;
  /** Distinguishes several scripts of one task; part of the run id. */
  readonly name?: string;
  /** Also the content of the file that HEDDLE_DATA names. */
  readonly stdin?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The program that reads the script, with its options; default `/bin/sh`. */
  readonly interpreter?: readonly string[];
  readonly arguments?: readonly string[];
  /** Further files in the run's folder. */
  readonly files?: readonly ScriptFile[];
  /** Runs it as root through `sudo -n` if the login user is not root. */
  readonly sudo?: boolean;
  readonly timeoutMs?: number;
}

export interface ScriptFile {
  /** Letters, digits, `.`, `_` and `-`; not one of the run's own files. */
  readonly name: string;
  readonly content: string;
  /**
   * Text behind the content that many runs have in common, such as the list of all nodes. If it is long, it is
   * sent to a node once and stays there, so it must contain no secret.
   */
  readonly shared?: string;
  /** Environment variable with the file's path. */
  readonly variable?: string;
  /** The owner may execute it, and PATH contains its folder. */
  readonly executable?: boolean;
}

export interface RunOutcome {
  readonly exitCode: number;
  /** Head and tail of the output, at most 64 KiB; the log has its first 64 MiB. */
  readonly stdout: string;
  readonly stderr: string;
  /** `key=value` lines that the script wrote to the file named by HEDDLE_RESULT. */
  readonly results?: JsonObject;
}

/** How to reach a node; secrets are resolved. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password?: string;
  /** Private key, PEM. */
  readonly key?: string;
  /** Socket of an SSH agent on the worker. */
  readonly agent?: string;
  /** The account says `hostKeys: pin`: a password may be sent to a host whose key is not known yet. */
  readonly pinsWithPassword?: boolean;
  /** The keys that its SSH server may show, each `<type> <base64>`. */
  readonly hostKey?: string | readonly string[];
  /** The host that the connection goes through; its key is known. */
  readonly jump?: Omit<NodeAddress, 'jump' | 'hostKey' | 'pinsWithPassword'> & {
    readonly hostKey: string | readonly string[];
  };
}

/**
 * Which key has which machine of one provider account. The engine stores it durably, the same for all
 * workers. Each call is atomic and idempotent: a key has at most one machine, a machine at most one key.
 */
export interface Claims {
  /**
   * Returns the key's machine; if it has none, claims the first candidate that is free. Undefined when all
   * are taken.
   */
  take(key: string, candidates: readonly string[]): Promise<string | undefined>;
  /** Frees the key's machine, if it has one. */
  release(key: string): Promise<void>;
  /** Every claimed machine, with its key. */
  held(): Promise<Readonly<Record<string, string>>>;
}

/** Where runs of programs outside of the worker are recorded (`src/detached`). */
export interface RunRecords {
  /** On this worker host, for its runs. */
  readonly folder: string;
  /** Of the account, for all worker hosts: who runs a program on which machine. */
  readonly claims: Claims;
}

/**
 * What CREATE of one machine has made, for its later attempts. The Temporal server keeps it until CREATE ends,
 * so it outlives the worker.
 */
export interface CreateRecord {
  /**
   * What earlier attempts recorded last, `{}` if they recorded nothing. Undefined if no earlier CREATE of this
   * machine can have been sent.
   */
  read(): Promise<JsonObject | undefined>;
  /**
   * Replaces the record, at most 8 KiB. Resolves when it is recorded.
   * @throws PluginError Retryable if it cannot be recorded, also because another attempt has replaced this one.
   */
  write(made: JsonObject): Promise<void>;
}

/** Rate limit of a provider account over all workers: `limits.callsPerSecond` in heddle.yaml. */
export interface Calls {
  /**
   * To be awaited before each call of the account's API; resolves at once without a limit. Rejects when the
   * task's signal is aborted.
   */
  take(): Promise<void>;
}

/** The pools of this installation, for a provider whose machines are their nodes. Calls are idempotent. */
export interface NodePools {
  /**
   * Requests a node; requests with the same id are one. Ready nodes are in the answer.
   * @throws PluginError Invalid if the pool does not exist, or refuses the demand.
   */
  ask(pool: string, demand: NodeDemand): Promise<RequestView>;
  /** Undefined if the pool does not know the request, or does not exist. */
  request(pool: string, id: string): Promise<RequestView | undefined>;
  /** Releases the node, or withdraws the request, if there is one. */
  end(pool: string, id: string): Promise<void>;
  /** All nodes of the pool that clusters have been allocated, or wait for. */
  allocated(pool: string): Promise<readonly AllocatedNode[]>;
  /** Names of the pools by the server's index, which may lack a pool that was created a moment ago. */
  names(): Promise<readonly string[]>;
  /** The labels of a pool; undefined if it does not exist. */
  labels(pool: string): Promise<readonly string[] | undefined>;
}

/** Argument of the static `start` of a plugin's class. */
export interface ClientAccount {
  /** The provider account's name; for an automator the automator's own. */
  readonly name: string;
  /**
   * The administrator's fields, with defaults, secrets resolved, and users' values where users may set them.
   */
  readonly fields: JsonObject;
  readonly log: PluginLog;
  /** Aborted when starting takes too long, or the worker ends. */
  readonly signal: AbortSignal;
}
