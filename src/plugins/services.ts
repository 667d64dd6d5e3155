import type { JsonObject } from '../model/json.js';
import type { AllocatedNode } from '../model/pool/allocated.js';
import type { NodeDemand } from '../model/pool/request.js';
import type { RequestView } from '../schema/output/pool.js';

// The services that the engine provides to plugins.

export interface PluginLog {
  debug(message: string, attributes?: JsonObject): void;
  info(message: string, attributes?: JsonObject): void;
  warn(message: string, attributes?: JsonObject): void;
  error(message: string, attributes?: JsonObject): void;
}

/** A node as automators reach it. Implemented over SSH; a plugin never sees the connection. */
export interface Shell {
  /**
   * Runs a script exactly once for this task and run: a later attempt waits for the same execution and reads
   * its outcome. Output is streamed to the task's log.
   * @throws PluginError Retryable if the node cannot be reached (the script may be running; a retry does not
   * start it twice), ScriptFailed if it died with its machine, UnknownOutcome if its outcome is lost.
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

/** HEDDLE_RUN contains the path of the run's private folder, which is emptied when the script ends. */
export interface Script {
  readonly text: string;
  /** Distinguishes several scripts of one task; part of the run id. */
  readonly name?: string;
  /** Standard input, also the content of the file in HEDDLE_DATA. */
  readonly stdin?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The program that interprets the script, with its options. Default: `/bin/sh`. */
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
   * Text appended to the content that many runs share, such as the list of all nodes. If it is long, it is
   * sent to a node once and kept there, so it must not contain secrets.
   */
  readonly shared?: string;
  /** Environment variable with the file's path. */
  readonly variable?: string;
  /** Makes the file executable for its owner and adds its folder to PATH. */
  readonly executable?: boolean;
}

export interface RunOutcome {
  readonly exitCode: number;
  /** Beginning and end of the output, at most 64 KiB; the log has the first 64 MiB. */
  readonly stdout: string;
  readonly stderr: string;
  /** `key=value` lines that the script wrote to the file in HEDDLE_RESULT. */
  readonly results?: JsonObject;
}

/** Where an administrator wrote the settings of a host. */
export interface SettingsOrigin {
  /** Of its address and host key, such as `machine b1 of provider rack in heddle.yaml`. */
  readonly host: string;
  /** Of its user and credentials; these may be the account's. */
  readonly login: string;
}

/** Address and login of a node; secrets are resolved. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password?: string;
  /** Private key, PEM. */
  readonly key?: string;
  /** Socket of an SSH agent on the worker. */
  readonly agent?: string;
  /** The account has `hostKeys: pin`: a password may be sent to a host whose key is still unknown. */
  readonly pinsWithPassword?: boolean;
  /** Where its settings are: errors then name a remedy. */
  readonly origin?: SettingsOrigin;
  /** The accepted host keys, each `<type> <base64>`. */
  readonly hostKey?: string | readonly string[];
  /** The jump host, whose key is known. */
  readonly jump?: Omit<NodeAddress, 'jump' | 'hostKey' | 'pinsWithPassword'> & {
    readonly hostKey: string | readonly string[];
  };
}

/**
 * Assigns machines of one provider account to keys. The engine stores the claims durably for all workers.
 * Each call is atomic and idempotent: a key has at most one machine, and a machine at most one key.
 */
export interface Claims {
  /**
   * Returns the key's machine; if it has none, claims the first free candidate. Undefined if all are taken.
   */
  take(key: string, candidates: readonly string[]): Promise<string | undefined>;
  /** Releases the key's machine, if it has one. */
  release(key: string): Promise<void>;
  /** Every claimed machine, with its key. */
  held(): Promise<Readonly<Record<string, string>>>;
}

/** The folders that record runs of programs outside of the worker (`src/detached`). */
export interface RunRecords {
  /** Folder on this worker host, for its runs. */
  readonly folder: string;
  /** The account's claims, for all worker hosts: which host runs a program on which machine. */
  readonly claims: Claims;
}

/**
 * What CREATE of one machine has made, for its later attempts. The Temporal server keeps it until CREATE
 * ends, so it survives the worker.
 */
export interface CreateRecord {
  /**
   * The last record of earlier attempts, `{}` if they recorded nothing. Undefined if no earlier CREATE of
   * this machine can have been sent.
   */
  read(): Promise<JsonObject | undefined>;
  /**
   * Replaces the record, at most 8 KiB. Resolves when it is stored.
   * @throws PluginError Retryable if it cannot be stored, including when another attempt has superseded this
   * one.
   */
  write(made: JsonObject): Promise<void>;
}

/** Rate limit of a provider account across all workers: `limits.callsPerSecond` in heddle.yaml. */
export interface Calls {
  /**
   * Await it before each call of the account's API. Resolves immediately if there is no limit. Rejects when
   * the task's signal is aborted.
   */
  take(): Promise<void>;
}

/** The pools of this installation, for a provider whose machines are their nodes. Calls are idempotent. */
export interface NodePools {
  /**
   * Requests a node. Requests with the same id are idempotent. The answer contains nodes that are ready.
   * @throws PluginError Invalid if the pool does not exist or rejects the request.
   */
  ask(pool: string, demand: NodeDemand): Promise<RequestView>;
  /** Undefined if the pool does not know the request, or does not exist. */
  request(pool: string, id: string): Promise<RequestView | undefined>;
  /** Releases the node or cancels the request, if it exists. */
  end(pool: string, id: string): Promise<void>;
  /** All nodes of the pool that are allocated to clusters or that clusters wait for. */
  allocated(pool: string): Promise<readonly AllocatedNode[]>;
  /** Names of the pools from the server's index, which may lack a pool that was just created. */
  names(): Promise<readonly string[]>;
  /** The labels of a pool; undefined if it does not exist. */
  labels(pool: string): Promise<readonly string[] | undefined>;
}

/** Argument of the static `start` of a plugin's class. */
export interface ClientAccount {
  /** The name of the provider account, or of the automator. */
  readonly name: string;
  /**
   * The administrator's fields with defaults and resolved secrets, overridden by users' values where allowed.
   */
  readonly fields: JsonObject;
  readonly log: PluginLog;
  /** Aborted when the start times out or the worker shuts down. */
  readonly signal: AbortSignal;
}
