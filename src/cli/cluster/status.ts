import { waitUntil } from '../../client/entity-client.js';
import { HeddleError } from '../../client/errors.js';
import { endedStates } from '../../model/cluster/operation.js';
import type { WaitResult } from '../../client/wait.js';
import type { OutputsDocument } from '../../schema/output/documents.js';
import type {
  DeliveryView,
  NextStep,
  ServerView,
  StatusDocument,
  Trouble,
  ClusterStatus,
} from '../../schema/output/status.js';
import type { ServerOptions } from '../configuration.js';
import type { Output } from '../output.js';
import { describeError } from '../report-error.js';
import { requireWorker, type Session } from '../session.js';
import { readDeliveries } from '../system/deliveries.js';
import { readServer } from '../system/server-view.js';
import { findTroubles } from '../system/troubles.js';
import { formatAge, formatMoment } from '../format.js';
import { verb } from '../verb.js';
import { type ClusterDescription, describeLatest } from './describe-cluster.js';
import { nextSteps } from './next-steps.js';
import { outcomeShown } from './outcome.js';
import { readShownOutputs } from './output-text.js';
import { followOperation } from './progress/follow-operation.js';
import { printNext, printStatus, printTroubles } from './status-text.js';

interface StatusOptions extends ServerOptions {
  readonly watch?: boolean;
  readonly probe?: boolean;
}

/**
 * The phase of a cluster, its failures and obstacles, and the next step; also of a cluster that was deleted,
 * while the server keeps it.
 */
export const status = verb(
  async (session, name: string, { probe, watch = false }: StatusOptions): Promise<Answer> => {
    const described = await describeLatest(session, name);
    if (probe === true && described.ended === undefined) {
      await requireWorker(session);
      await session.client.probe(name);
    }
    const patienceMs = watch && described.ended === undefined ? restartMs : 0;
    const found = await askWorkers(session, name, patienceMs);
    if (watch && !(found instanceof HeddleError)) return follow(session, found);
    const server = await readServer(session.temporal, name);
    const deliveries = await readDeliveries(session.temporal, described.uid);
    const known = { described, server, troubles: findTroubles(server, Date.now()), deliveries };
    if (found instanceof HeddleError) return { ...known, error: found };
    const outputs = found.phase === 'deleted' ? undefined : await readShownOutputs(session, name);
    return { ...known, found, outputs };
  },
  {
    document: (answer): StatusDocument | undefined => {
      if ('end' in answer || 'rest' in answer) return undefined;
      const { described, server, troubles, deliveries } = answer;
      const next = troubles.flatMap((trouble) => trouble.next ?? []);
      if ('error' in answer)
        return {
          ...described,
          partial: true,
          server,
          troubles,
          deliveries,
          next: [...next, ...stepsAfter(answer.error)],
        };
      const { found, outputs } = answer;
      return {
        ...found,
        outputs,
        createdAt: described.createdAt,
        ended: described.ended,
        server,
        troubles,
        deliveries,
        next: [...next, ...nextSteps(found, Date.now())],
      };
    },
    print: (output, answer) => {
      if ('end' in answer) outcomeShown.print(output, answer);
      else if ('rest' in answer)
        printStatus(output, answer.rest, { troubles: [], deliveries: [] }, Date.now());
      else if ('error' in answer) printPartial(output, answer);
      else {
        const { described, found } = answer;
        if (described.ended !== undefined)
          output.line(`the last cluster ${described.name} ${described.ended}; this is its final state`);
        printStatus(output, found, answer, Date.now());
      }
    },
    error: (answer) => {
      if ('end' in answer) return outcomeShown.error(answer);
      return 'error' in answer ? answer.error : undefined;
    },
  },
);

type Answer = Whole | PartialStatus | Watched;

/** What the server knows of a cluster. */
interface Known {
  readonly described: ClusterDescription;
  readonly server: ServerView;
  readonly troubles: readonly Trouble[];
  readonly deliveries: readonly DeliveryView[];
}

type Whole = Known & {
  readonly found: ClusterStatus;
  readonly outputs: OutputsDocument['outputs'] | undefined;
};

/** When no worker answers. */
type PartialStatus = Known & { readonly error: HeddleError };

/** The end of the operation that was followed, or the status of a cluster without any. */
type Watched = { readonly end: WaitResult } | { readonly rest: ClusterStatus };

/** A worker that is started again answers within this time: what is watched goes on. */
const restartMs = 20_000;

/**
 * The status, or the error when no worker answers or the answer cannot be read.
 * @param patienceMs how long a worker is waited for.
 */
async function askWorkers(
  session: Session,
  name: string,
  patienceMs: number,
): Promise<ClusterStatus | HeddleError> {
  const ask = async (): Promise<ClusterStatus> => {
    await requireWorker(session);
    return session.client.status(name);
  };
  try {
    return await waitUntil(ask, (found) => found, { patienceMs });
  } catch (error) {
    const isShown = error instanceof HeddleError && ['NoWorker', 'Encryption', 'Failed'].includes(error.code);
    if (isShown) return error;
    throw error;
  }
}

/** Follows the operation under way to its end; with --json each status is a line. */
async function follow(session: Session, found: ClusterStatus): Promise<Watched> {
  const { output } = session;
  const { name, operation = found.queued[0] } = found;
  if (operation === undefined || operation.state === 'held' || endedStates.includes(operation.state)) {
    output.record(found);
    return { rest: found };
  }
  const end = await followOperation(session, {
    name,
    operation: operation.id,
    since: Date.now(),
    onStatus: (each) => output.record(each),
  });
  return { end };
}

function printPartial(output: Output, { described, server, troubles, error }: PartialStatus): void {
  const { name, uid, phase, createdAt } = described;
  const now = Date.now();
  output.line(`cluster ${name}: ${phase ?? 'phase unknown'} (last state known to the server)`);
  if (uid !== undefined) output.line(`uid ${uid}`);
  output.line(
    `created ${formatMoment(createdAt)} (${formatAge(createdAt, now)} ago); only workers know its nodes`,
  );
  for (const { title, state, attempt, since } of server.activities)
    output.line(
      `task ${title}: ${state}${attempt > 1 ? `, attempt ${attempt}` : ''}, for ${formatAge(since, now)}`,
    );
  printTroubles(output, troubles);
  // The error names its own next command.
  const known = stepsAfter(error).map(({ command }) => command);
  printNext(
    output,
    troubles.flatMap(({ next }) => next ?? []).filter(({ command }) => !known.includes(command)),
  );
}

function stepsAfter(error: HeddleError): readonly NextStep[] {
  const { next } = describeError(error);
  return next === undefined ? [] : [{ command: next, why: 'then check again' }];
}
