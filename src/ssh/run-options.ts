import type { RunFolders } from '../model/node/run-folders.js';
import type { Script } from '../plugins/contract.js';
import type { Connection } from './connection.js';

/** Identifies a script of a node. Of two, the one with the later time is the current one. */
export interface Fence {
  /** The same for all tasks of a node. */
  readonly node: string;
  /**
   * When this attempt of its task was scheduled, by the one clock that all attempts share, in ms since the
   * epoch.
   */
  readonly time: number;
  /** The operation of the task. Its run folders are kept while it is the node's last. */
  readonly operation: string;
}

export interface RunRequest {
  /** The same id never runs twice on a node. */
  readonly runId: string;
  readonly script: Script;
  /** An absolute path on the node. Default: `$HOME/.heddle/runs`. */
  readonly runsFolder?: string | undefined;
  /** Limits of the run folders. Default: {@link defaultRunFolders}. */
  readonly bounds?: RunFolders | undefined;
  /** Scripts of a node with a fence run one at a time; a script without one runs beside others. */
  readonly fence?: Fence | undefined;
}

export interface RunOptions {
  /** Gives an open connection, the pooled one or a new one. */
  readonly connect: () => Promise<Connection>;
  /** Called with output as it comes. The node is read no faster than it settles. */
  readonly onOutput?: OutputListener | undefined;
  /** Called with what the node did beside the script, such as ending an earlier one. */
  readonly onNote?: ((text: string) => void) | undefined;
  /**
   * An earlier attempt learnt that the run was claimed. Without a trace of it on the node its outcome is
   * unknown.
   */
  readonly claimed?: boolean | undefined;
  /** Called once when the node reports that the run was claimed, for later attempts. */
  readonly onClaim?: (() => void) | undefined;
  /** Ends the script: its process group gets TERM, after 5 s KILL. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Lets go of the script, which runs on: for a worker that shuts down. The run is then reported as
   * Retryable.
   */
  readonly detach?: AbortSignal | undefined;
}

export type OutputListener = (stream: 'stdout' | 'stderr', chunk: Buffer) => void | Promise<void>;

/** How a run came to its end. */
export interface RunEnd {
  /**
   * - exit: the script ended; timeout, cancel: it was ended.
   * - superseded: it was ended because a later task of its node began.
   * - full: the node's disk was full when it ended, so what it wrote cannot be trusted.
   * - died: its supervisor was killed; reboot: the machine went down under it.
   */
  readonly reason: 'exit' | 'timeout' | 'cancel' | 'superseded' | 'full' | 'died' | 'reboot';
  /** Unknown if no supervisor was left to report it. */
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** The result file, up to a byte more than the 8 KiB that are allowed. */
  readonly result: Buffer;
}
