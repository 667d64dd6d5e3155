import { PluginError } from '../plugins/errors.js';
import type { Connection } from './connection.js';
import { connectionLost } from './failure.js';
import { followerProgram } from './remote/follower.js';
import type { RunEnd } from './run-options.js';
import type { RunProgress } from './run-progress.js';
import { type RemoteSession, startProgram } from './session.js';
import { notBegun } from './not-begun.js';
import { needsSudo } from './remote-command.js';
import { describeTarget } from './target.js';

/** The place of a run on the node. */
export interface RunPlace {
  readonly runs: string;
  readonly run: string;
  readonly id: string;
  readonly sudo: boolean | undefined;
  /** Node, time and operation, see `fenceText`; empty if the run is not fenced. */
  readonly fence: string;
}

/**
 * Streams a run that was claimed to its end.
 * @param attached called as soon as the node reports the run
 * @returns 'absent' if nothing shows that the run was claimed, 'released' if its claim was given back;
 * undefined when the connection ended before the run did, or `stop` was aborted.
 * @throws PluginError as runOnce does.
 */
export async function followRun(
  connection: Connection,
  place: RunPlace,
  progress: RunProgress,
  stop: AbortSignal,
  attached?: () => void,
): Promise<RunEnd | 'absent' | 'released' | undefined> {
  const { sudo, ...folder } = place;
  const { outat, errat } = progress;
  const session = await startProgram(connection, {
    program: followerProgram,
    sudo,
    variables: { ...folder, outat, errat },
  });
  progress.rewindResult();
  stop.addEventListener('abort', session.close, { once: true });
  if (stop.aborted) session.close();
  let greeted = false;
  try {
    for await (const frame of session.frames) {
      greeted = true;
      if (frame.kind === 'output') {
        await progress.add(frame);
        continue;
      }
      const [kind, word = '', ...rest] = frame.words;
      if (kind === 'absent' || kind === 'released') return kind;
      if (kind === 'note') progress.note([word, ...rest].join(' '));
      if (kind === 'skip') progress.skip(word, rest[0] ?? '');
      if (kind === 'end') return endOf(word, rest[0], progress);
      if (kind !== 'tick') continue;
      progress.signs++;
      progress.reported = true;
      progress.claim();
      attached?.();
    }
  } catch (error) {
    if (error instanceof PluginError) throw error;
    throw connectionLost(connection.target, error);
  } finally {
    stop.removeEventListener('abort', session.close);
    session.close();
  }
  if (!greeted && !stop.aborted) await explainSilence(session, connection, sudo);
  return undefined;
}

/**
 * Follows a run, and never takes one that was claimed for one that was not.
 * @returns 'absent' if nothing shows that the run was claimed; undefined also if its claim was given back.
 * @throws PluginError UnknownOutcome if it was claimed before and nothing of it is left.
 */
export async function followClaimed(
  connection: Connection,
  place: RunPlace,
  progress: RunProgress,
  stop: AbortSignal,
  attached?: () => void,
): Promise<RunEnd | 'absent' | undefined> {
  const end = await followRun(connection, place, progress, stop, attached);
  if (end === 'released') {
    progress.release();
    return undefined;
  }
  if (end === 'absent' && progress.claimed)
    throw new PluginError(
      'UnknownOutcome',
      `run ${place.id} was started on ${describeTarget(connection.target)}, and nothing of it is left there: its outcome is unknown, and it is not started again. Check what it did before you run it again`,
    );
  return end;
}

/** The last line of a run's report. */
export function endOf(reason: string, code: string | undefined, progress: RunProgress): RunEnd {
  const exitCode =
    code === undefined || !/^\d{1,3}$/.test(code) || Number(code) > 255 ? undefined : Number(code);
  switch (reason) {
    case 'exit':
      // No number means no knowledge, and is never taken for 0.
      return progress.end(exitCode === undefined ? 'died' : 'exit', exitCode);
    case 'timeout':
    case 'cancel':
    case 'superseded':
    case 'full':
    case 'died':
    case 'reboot':
      return progress.end(reason, exitCode);
    default:
      throw new Error(`unexpected end of a run: ${reason}`);
  }
}

/** The node said why it does not start the run; nothing was started. */
export function explainRefusal(why: string, text: string, where: string): PluginError {
  const said = text.trim();
  if (why === 'full')
    return new PluginError(
      'Invalid',
      `disk full on node ${where}: the script was not started (${said}); make room and try again`,
    );
  if (why === 'folder')
    return new PluginError(
      'Invalid',
      `${where} cannot keep the run, so the script was not started: ${said}; ~/.heddle must be a folder that its user can write`,
    );
  return new PluginError('Retryable', `the script was not started on ${where}: ${said}`);
}

/**
 * The program did not even begin: sudo refused, no shell that can run it, or the connection was cut at once.
 */
export async function explainSilence(
  session: RemoteSession,
  connection: Connection,
  sudo: boolean | undefined,
): Promise<void> {
  const exitCode = connection.open ? await session.exit : undefined;
  if (exitCode === undefined) return;
  // 70: the program was cut on its way. Above 128: it was killed, unless sudo says so.
  if (exitCode === 70 || (exitCode > 128 && !needsSudo(connection.target, sudo))) return;
  throw notBegun(connection, { sudo, exitCode, said: session.complaints.toString() });
}
