import type { RunFolders } from '../model/node/run-folders.js';
import type { PluginLog, RunOutcome, Script, Shell } from '../plugins/contract.js';
import { PluginError } from '../plugins/errors.js';
import { exec } from './exec.js';
import type { ConnectionPool } from './pool.js';
import { putFile } from './put-file.js';
import { parseResults } from './results.js';
import { runOnce } from './run.js';
import type { OutputListener, RunEnd, Fence } from './run-options.js';
import { describeTarget, type SshTarget } from './target.js';

/** Ids of the runs that were claimed on the node. */
interface Claims {
  has(runId: string): boolean;
  add(runId: string): void;
}

export interface ShellOptions {
  readonly pool: ConnectionPool;
  readonly target: SshTarget;
  /** `<taskId>.<run>`; scripts with a name get `.<name>` behind it. */
  readonly runId: string;
  /** Gets all output of scripts as it comes. The node is read no faster than it settles. */
  readonly onOutput?: OutputListener;
  /** Timeout of scripts without their own timeout. Default: no limit. */
  readonly timeoutMs?: number;
  /** Cancels: a running script's process group is ended. */
  readonly signal?: AbortSignal;
  /**
   * Lets go without ending anything, for a worker that shuts down: the next attempt waits for the same run.
   */
  readonly detach?: AbortSignal;
  readonly log?: PluginLog;
  /** An absolute path on the node. Default: `$HOME/.heddle/runs`. */
  readonly runsFolder?: string;
  readonly runFolders?: RunFolders;
  /** What earlier attempts learnt of runs, and this one notes for later attempts. */
  readonly claims?: Claims;
  /** Has the node's scripts run one at a time: see {@link Fence}. */
  readonly fence?: Fence;
}

/** The contract's Shell over SSH, for one attempt of one task. */
export function createShell(options: ShellOptions): Shell {
  const { pool, target, signal, detach, log, claims } = options;
  const connect = () => pool.acquire(target);
  return {
    async run(given) {
      const script = { ...given, timeoutMs: given.timeoutMs ?? options.timeoutMs };
      const runId = script.name === undefined ? options.runId : `${options.runId}.${script.name}`;
      log?.debug('script waits for its run', { run: runId });
      const end = await runOnce(
        { runId, script, runsFolder: options.runsFolder, bounds: options.runFolders, fence: options.fence },
        {
          connect,
          onOutput: options.onOutput,
          onNote: (text) => log?.warn(text, { run: runId }),
          signal,
          detach,
          claimed: claims?.has(runId),
          onClaim: () => claims?.add(runId),
        },
      );
      claims?.add(runId);
      log?.debug('script ended', { run: runId, reason: end.reason, exitCode: end.exitCode ?? null });
      return toOutcome(end, script, describeTarget(target), signal, log);
    },
    async exec(command, execOptions = {}) {
      return exec(await pool.acquire(target, signal), command, { ...execOptions, signal });
    },
    async putFile(path, content, putOptions = {}) {
      await putFile(await pool.acquire(target, signal), path, content, putOptions);
    },
  };
}

/** A script that ended by itself is an outcome, with any exit code; everything else is an error. */
function toOutcome(
  end: RunEnd,
  script: Script,
  where: string,
  signal: AbortSignal | undefined,
  log: PluginLog | undefined,
): RunOutcome {
  const { stdout, stderr, exitCode } = end;
  const name = script.name === undefined ? 'the script' : `script ${script.name}`;
  const failed = (text: string, cause?: unknown) =>
    new PluginError('ScriptFailed', `${name} on ${where} ${text}`, { stdout, stderr, cause, exitCode });
  switch (end.reason) {
    case 'timeout':
      throw failed(
        `ran longer than ${(script.timeoutMs ?? 0) / 1000} s and was ended, with all it had started`,
      );
    case 'cancel':
      throw failed('was cancelled; its processes were ended', signal?.reason);
    case 'superseded':
      throw failed('was ended, with all it had started, because a later task of its node began');
    case 'full':
      throw failed(
        `ended${exitCode === undefined ? '' : ` with exit code ${exitCode}`}, but disk full on node: its output may be incomplete; make room and run it again`,
      );
    case 'reboot':
      throw failed('died with its machine: the node rebooted while it ran, so its progress is unknown');
    case 'died':
      throw failed(
        'was killed on the node together with its supervisor (out of memory?), and left no exit code',
      );
    case 'exit':
      if (exitCode === undefined) throw failed('left no exit code');
  }
  if (end.result.length === 0) return { exitCode, stdout, stderr };
  try {
    return { exitCode, stdout, stderr, results: parseResults(end.result) };
  } catch (error) {
    // A script that fails is judged by its exit code first.
    if (exitCode === 0 || !(error instanceof PluginError)) throw error;
    log?.warn(`results of ${name} omitted: ${error.message}`);
    return { exitCode, stdout, stderr };
  }
}
