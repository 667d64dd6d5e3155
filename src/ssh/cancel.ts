import { setTimeout as delay } from 'node:timers/promises';
import { PluginError } from '../plugins/errors.js';
import { endOf, explainSilence, type RunPlace } from './follow.js';
import { cancellerProgram } from './remote/canceller.js';
import type { RunEnd, RunOptions } from './run-options.js';
import type { RunProgress } from './run-progress.js';
import { startProgram } from './session.js';
import { describeTarget } from './target.js';

/**
 * Ends a run and reports how it ended: `cancel`, or its own end if that came first. A run that has not
 * started will never start.
 * @throws PluginError Retryable if the node cannot be reached: the script may continue there.
 */
export async function cancelRun(
  place: RunPlace,
  progress: RunProgress,
  options: Pick<RunOptions, 'connect'>,
): Promise<RunEnd> {
  let problem: unknown;
  for (const pause of [0, 500, 2_000]) {
    await delay(pause);
    try {
      const end = await tryCancel(place, progress, options);
      if (end !== undefined) return end;
    } catch (error) {
      if (!(error instanceof PluginError) || error.kind !== 'Retryable') throw error;
      problem = error;
    }
  }
  throw new PluginError(
    'Retryable',
    `run ${place.id} could not be cancelled and may continue: its node was not reached`,
    { cause: problem },
  );
}

async function tryCancel(
  place: RunPlace,
  progress: RunProgress,
  options: Pick<RunOptions, 'connect'>,
): Promise<RunEnd | undefined> {
  const connection = await options.connect();
  const { sudo, ...variables } = place;
  const session = await startProgram(connection, { program: cancellerProgram, variables, sudo });
  try {
    for await (const frame of session.frames) {
      if (frame.kind !== 'line') continue;
      const [kind, word = '', ...rest] = frame.words;
      const where = describeTarget(connection.target);
      if (kind === 'fail')
        throw new PluginError(
          'Invalid',
          `run ${place.id} could not be cancelled on ${where}: ${rest.join(' ')}`,
        );
      if (kind === 'end' && word === 'stuck')
        throw new PluginError(
          'UnknownOutcome',
          `run ${place.id} does not end on ${where}, even after SIGKILL`,
        );
      if (kind === 'end') return endOf(word, rest[0], progress);
    }
  } finally {
    session.close();
  }
  await explainSilence(session, connection, sudo);
  return undefined;
}
