import type { JsonObject } from '../model/json.js';

/** A node, as automators reach it. Implemented over SSH; a plugin never sees the connection. */
export interface Shell {
  /**
   * Runs a script exactly once for this task and run, whatever dies in between: a later attempt waits for the
   * same execution and reads its outcome. Output goes to the task's log as it comes.
   * @throws PluginError Retryable when the node cannot be reached (the script may be running: nothing is
   * started twice), ScriptFailed when it died with its machine, UnknownOutcome when nobody can tell.
   */
  run(script: Script): Promise<RunOutcome>;
  /** Runs a short command that is safe to repeat. Words are passed as they are: no shell reads them. */
  exec(
    command: readonly string[],
    options?: { readonly stdin?: string; readonly timeoutMs?: number },
  ): Promise<RunOutcome>;
  /** Writes a file whole or not at all (written beside, then renamed). */
  putFile(path: string, content: string | Uint8Array, options?: { readonly mode?: number }): Promise<void>;
}

export interface Script {
  readonly text: string;
  /** Tells several scripts of one task apart; part of the run id. */
  readonly name?: string;
  /** Given to the script on standard input. */
  readonly stdin?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The program that reads the script; `/bin/sh` unless given. */
  readonly interpreter?: readonly string[];
  /** Run as root through sudo -n when the login user is not root. */
  readonly sudo?: boolean;
  readonly timeoutMs?: number;
}

export interface RunOutcome {
  readonly exitCode: number;
  /** Head and tail of the output, at most 64 KiB; the whole is in the log. */
  readonly stdout: string;
  readonly stderr: string;
  /** Results that the script wrote as `key=value` lines to the file named by HEDDLE_RESULT. */
  readonly results?: JsonObject;
}
