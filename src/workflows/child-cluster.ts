import {
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowCancellationType,
  condition,
  getExternalWorkflowHandle,
  log,
  ParentClosePolicy,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import type { ClusterEvent, OperationOutcome } from '../model/cluster/event.js';
import type { WrittenCluster } from '../model/cluster/spec.js';
import { openMessage, purposeOf } from '../model/messages/envelope.js';
import { nothingTaken, refuseTaken, withTaken, type Receiver } from '../model/messages/taken.js';
import {
  clusterEventSignalName,
  clusterWorkflowId,
  clusterWorkflowType,
  workflowQueue,
} from '../model/names.js';
import { workflowTaskMs } from '../model/resumption.js';
import { clusterEventSignal, clusterMessages } from './messages.js';

export type { OperationOutcome, WrittenCluster };

/** A cluster that a workflow of your own started, as that workflow sees it. */
export interface ChildCluster {
  readonly name: string;
  /**
   * Waits for the next operation that ends or is held, and returns it; each outcome is returned once. `done`:
   * the cluster is as requested; `held`: it waits for a decision, and a later call returns what became of it.
   * @throws when the cluster's workflow has ended, and no outcome is left.
   */
  settled(): Promise<OperationOutcome>;
  /**
   * Deletes the cluster. The outcome is `done` when no machine is left, `held` if a machine
   * cannot be deleted yet, and `rejected` if the cluster is locked.
   */
  delete(): Promise<OperationOutcome>;
}

/**
 * Starts the workflow of a cluster as a child that outlives this workflow: it ends when the
 * cluster is deleted. Cancelling this workflow leaves the cluster as it is.
 * @throws WorkflowExecutionAlreadyStartedError if there is a cluster of that name.
 */
export async function startCluster(spec: WrittenCluster): Promise<ChildCluster> {
  // An earlier cluster of the name has ended.
  delete receivers[spec.name];
  const received = receiverOf(spec.name);
  await CancellationScope.nonCancellable(async () => {
    const child = await startChild<(spec: WrittenCluster) => Promise<string>>(clusterWorkflowType, {
      workflowId: clusterWorkflowId(spec.name),
      taskQueue: workflowQueue,
      args: [spec],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      cancellationType: ChildWorkflowCancellationType.ABANDON,
      workflowTaskTimeout: workflowTaskMs,
      staticSummary: `cluster ${spec.name}`,
    });
    child.result().then(
      (result) => {
        received.ended = ApplicationFailure.nonRetryable(result, 'ClusterEnded');
      },
      (error: unknown) => {
        received.ended = error;
      },
    );
  });
  return clusterOf(spec.name, received);
}

/** The same cluster in a later run of the workflow that started it, after it continued as new. */
export function followCluster(name: string): ChildCluster {
  return clusterOf(name, receiverOf(name));
}

function clusterOf(name: string, received: Received): ChildCluster {
  const settled = async (): Promise<OperationOutcome> => {
    await condition(() => received.outcomes.length > 0 || received.ended !== undefined);
    const outcome = received.outcomes.shift();
    if (outcome === undefined) throw received.ended;
    return outcome;
  };
  return {
    name,
    settled,
    delete: async () => {
      const by = `workflow ${workflowInfo().workflowId}`;
      await getExternalWorkflowHandle(clusterWorkflowId(name)).signal(clusterMessages.signals.requestDelete, {
        by,
      });
      for (;;) {
        const outcome = await settled();
        if (outcome.kind === 'delete') return outcome;
      }
    },
  };
}

/** What arrived from a cluster and was not returned yet. */
interface Received {
  readonly outcomes: OperationOutcome[];
  ended?: unknown;
}

/** By the names of clusters. Each run of a workflow has its own instance of this module. */
const receivers: Record<string, Received> = {};
let isReceiving = false;
/** An event may have been sent to the run before this one. */
const receiver: Receiver = { addresses: [], began: 0 };

function receiverOf(name: string): Received {
  const received = (receivers[name] ??= { outcomes: [] });
  if (!isReceiving) setHandler(clusterEventSignal, receive);
  isReceiving = true;
  return received;
}

let taken = nothingTaken;

/** The signal comes sealed, so that only holders of the keys can send it; a run takes each once. */
function receive(sealed: unknown): void {
  const purpose = purposeOf('signal', clusterEventSignalName);
  const now = Date.now();
  const opened = openMessage(purpose, [sealed], now);
  const refusal = opened.ok ? refuseTaken(purpose, opened.seal, { taken, receiver, now }) : opened;
  if (!opened.ok || refusal !== undefined) {
    log.warn('an event of a cluster was ignored', { why: refusal?.why.slice(0, 500) });
    return;
  }
  taken = withTaken(taken, opened.seal);
  const [{ type, data }] = opened.args as [ClusterEvent];
  const { cluster, operation } = data;
  if (operation === undefined || type === 'operation.started' || type === 'operation.superseded') return;
  // A workflow that follows several clusters gets events of one before it follows the other.
  receiverOf(cluster).outcomes.push(operation);
}
