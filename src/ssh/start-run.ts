import { randomBytes } from 'node:crypto';
import type { Connection } from './connection.js';
import { endOf, explainRefusal, explainSilence, followClaimed, followRun, type RunPlace } from './follow.js';
import { putShared } from './put-file.js';
import type { RunEnd } from './run-options.js';
import type { RunProgress } from './run-progress.js';
import type { PackedRun } from './run-upload.js';
import { Runner } from './runner.js';
import { describeTarget } from './target.js';

/**
 * After so many ms the output of a script is streamed. A script that ends earlier costs no polling. If the
 * run is not claimed by then, the next tries come after longer pauses.
 */
const streamAfterMs = 300;
const longestPauseMs = 5_000;

/**
 * Starts a run, unless it was started before, and waits for its end.
 * @returns undefined if it is not known to have ended: the connection was lost, the run did not start, or
 * `stop` was aborted.
 * @throws PluginError as runOnce does.
 */
export async function startRun(
  connection: Connection,
  place: RunPlace,
  packed: PackedRun,
  progress: RunProgress,
  stop: AbortSignal,
): Promise<RunEnd | undefined> {
  const { sudo = false, ...variables } = place;
  const runner = await Runner.take(connection, sudo);
  const close = () => runner.close();
  stop.addEventListener('abort', close, { once: true });
  if (stop.aborted) close();
  let isKept = false;
  try {
    const send = (): Promise<readonly string[] | RunEnd | undefined> => {
      runner.session.send(packed.text({ ...variables, tag: randomBytes(8).toString('hex') }));
      progress.rewindResult();
      // The runner is given up as soon as the run is followed; its shell carries it to its end.
      return readAnswer(runner, progress, () => followRun(connection, place, progress, stop, close));
    };
    let answer = await send();
    if (answer !== undefined && !('reason' in answer) && answer[0] === 'missing') {
      for (const [digest, shared] of packed.shared)
        if (answer.includes(digest)) await putShared(connection, place, digest, shared);
      answer = await send();
    }
    if (answer === undefined) {
      if (!runner.greeted && !stop.aborted) await explainSilence(runner.session, connection, sudo);
      return undefined;
    }
    if ('reason' in answer) return answer;
    runner.keep();
    isKept = true;
    const [kind, word = '', ...rest] = answer;
    const where = describeTarget(connection.target);
    if (kind === 'end') return endOf(word, rest[0], progress);
    if (kind === 'fail') throw explainRefusal(word, rest.join(' '), where);
    // Removed since: the next attempt sends it again.
    if (kind === 'missing') return undefined;
    // Claimed by another attempt, or the supervisor was killed.
    if (kind === 'running') progress.claim();
    const end = await followClaimed(connection, place, progress, stop);
    if (end !== 'absent') return end;
    // 153: by SIGXFSZ, before its claim.
    if (word === '153') throw explainRefusal('full', 'File too large for the limits of the login', where);
    return undefined;
  } finally {
    stop.removeEventListener('abort', close);
    if (!isKept) runner.close();
  }
}

/**
 * The runner's last line about the run; the end of the run if `follow` was quicker; undefined if the
 * connection was lost.
 */
async function readAnswer(
  runner: Runner,
  progress: RunProgress,
  follow: () => Promise<RunEnd | 'absent' | 'released' | undefined>,
): Promise<readonly string[] | RunEnd | undefined> {
  for (let pauseMs = streamAfterMs; ;) {
    const frame = await runner.next(progress.reported ? undefined : pauseMs);
    if (frame === 'silence') {
      const end = await follow();
      if (end === undefined || typeof end === 'object') return end;
      if (end === 'released') progress.release();
      // A busy node has not claimed it yet, or ends an earlier script first. If the script has removed all
      // that is known of it, the supervisor still reports its end here.
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
    } else if (frame === undefined) return undefined;
    else if (frame.kind === 'output') await progress.add(frame);
    else if (frame.words[0] === 'claimed') progress.claim();
    else if (frame.words[0] === 'note') progress.note(frame.words.slice(1).join(' '));
    else if (frame.words[0] === 'skip') progress.skip(frame.words[1] ?? '', frame.words[2] ?? '');
    else if (frame.words[0] !== 'hello' && frame.words[0] !== 'tick') return frame.words;
  }
}
