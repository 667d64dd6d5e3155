import { HeddleError } from '../../client/errors.js';
import { endedStates } from '../../model/cluster/operation.js';
import type { ClusterStatus } from '../../model/cluster/view.js';
import { cleanText } from '../clean-text.js';
import type { ServerOptions } from '../configuration.js';
import { exitCodes } from '../errors.js';
import { describeError, exitCodeOf } from '../report-error.js';
import { requireWorker, type Session, withSession } from '../session.js';
import { lookAtServer } from '../system/server-view.js';
import { findTroubles } from '../system/troubles.js';
import { formatAge, formatMoment } from '../format.js';
import { type ClusterDescription, describeCluster } from './describe-cluster.js';
import { nextSteps } from './next-steps.js';
import { followOperation } from './progress/follow-operation.js';
import { reportEnd } from './report-operation.js';
import { printNext, printStatus, printTroubles } from './status-text.js';

/** The phase of a cluster, its failures and obstacles, and the next step. */
export async function status(
  name: string,
  options: ServerOptions & { readonly watch?: boolean; readonly look?: boolean },
): Promise<number> {
  return withSession(options, async (session) => {
    const { output } = session;
    const described = await describeCluster(session, name);
    if (options.look === true) {
      await requireWorker(session);
      await session.client.look(name);
    }
    const found = await askWorkers(session, name);
    if (found instanceof HeddleError) return reportWhatIsKnown(session, described, found);
    if (options.watch === true) return watch(session, found);
    const now = Date.now();
    const server = await lookAtServer(session.temporal, name);
    const troubles = findTroubles(server, now);
    printStatus(output, found, troubles, now);
    output.document({
      ...found,
      createdAt: described.createdAt,
      server,
      troubles,
      next: [...troubles.flatMap(({ next }) => next ?? []), ...nextSteps(found)],
    });
    return exitCodes.ok;
  });
}

/** The status, or the error when no worker answers or the answer cannot be read. */
async function askWorkers(session: Session, name: string): Promise<ClusterStatus | HeddleError> {
  try {
    await requireWorker(session);
    return await session.client.status(name);
  } catch (error) {
    if (error instanceof HeddleError && ['NoWorker', 'Encryption', 'Failed'].includes(error.code))
      return error;
    throw error;
  }
}

/** Follows the operation under way to its end; with --json every look is a line. */
async function watch(session: Session, found: ClusterStatus): Promise<number> {
  const { output } = session;
  const {
    name,
    queued: [first],
  } = found;
  const followed = found.operation ?? first;
  if (followed === undefined || followed.state === 'held' || endedStates.includes(followed.state)) {
    printStatus(output, found, [], Date.now());
    output.record(found);
    return exitCodes.ok;
  }
  const end = await followOperation(session, {
    name,
    operation: followed.id,
    since: Date.now(),
    onStatus: (look) => output.record(look),
  });
  if (!output.json) return reportEnd(output, end, { now: Date.now() });
  return end.operation.state === 'done' ? exitCodes.ok : exitCodes.failed;
}

/** Shows what the server knows when no worker answers. */
async function reportWhatIsKnown(
  { temporal, output }: Session,
  described: ClusterDescription,
  cause: HeddleError,
): Promise<number> {
  const { name, uid, phase, createdAt } = described;
  const now = Date.now();
  const server = await lookAtServer(temporal, name);
  const troubles = findTroubles(server, now);
  const { code, message, next } = describeError(cause);
  output.line(`cluster ${name}: ${phase ?? 'phase unknown'} (as the server last heard)`);
  if (uid !== undefined) output.line(`uid ${uid}`);
  output.line(
    `there since ${formatMoment(createdAt)} (${formatAge(createdAt, now)}); its nodes are known to workers alone`,
  );
  for (const { title, state, attempt, since } of server.activities) {
    output.line(
      `task ${title}: ${state}${attempt > 1 ? `, attempt ${attempt}` : ''}, for ${formatAge(since, now)}`,
    );
  }
  printTroubles(output, troubles);
  const steps = [
    ...troubles.flatMap((trouble) => trouble.next ?? []),
    ...(next === undefined ? [] : [{ command: next, why: 'then look again' }]),
  ];
  output.document({
    ...described,
    partial: true,
    server,
    troubles,
    next: steps,
    error: { code, message, next },
  });
  if (!output.json) {
    // The error's own comes with it.
    printNext(
      output,
      steps.filter(({ command }) => command !== next),
    );
    output.note(`error: ${cleanText(message)}`);
    if (next !== undefined) output.note(`next: ${next}`);
  }
  return exitCodeOf(code);
}
