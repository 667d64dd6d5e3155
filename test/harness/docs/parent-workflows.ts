import {
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  setHandler,
  startChild,
  type ParentClosePolicy,
} from '@temporalio/workflow';
import {
  followCluster,
  startCluster,
  type OperationOutcome,
  type WrittenCluster,
} from '../../../src/workflows/child-cluster.js';

const seenQuery = defineQuery<readonly string[]>('seen');
const renewSignal = defineSignal('renew');

/** Records the outcomes of a cluster until it is deleted; continues as new when it is told to. */
export async function watch(spec: WrittenCluster, earlier?: readonly string[]): Promise<readonly string[]> {
  const seen = [...(earlier ?? [])];
  let renew = false;
  setHandler(seenQuery, () => seen);
  setHandler(renewSignal, () => {
    renew = true;
  });
  const cluster = earlier === undefined ? await startCluster(spec) : followCluster(spec.name);
  for (;;) {
    const outcome = await Promise.race([cluster.settled(), condition(() => renew)]);
    if (outcome === undefined) return continueAsNew<typeof watch>(spec, seen);
    seen.push(`${outcome.kind} ${outcome.state}`);
    if (outcome.kind === 'delete') return seen;
  }
}

/** The outcomes of a creation and, unless it was rejected, of a deletion. */
export async function createAndDelete(spec: WrittenCluster): Promise<readonly OperationOutcome[]> {
  const cluster = await startCluster(spec);
  const created = await cluster.settled();
  return created.state === 'rejected' ? [created] : [created, await cluster.delete()];
}

/** Starts a cluster with Temporal's own function, and waits for its end. */
export async function startPlainly(
  spec: WrittenCluster,
  parentClosePolicy?: ParentClosePolicy,
): Promise<string> {
  const child = await startChild<(spec: WrittenCluster) => Promise<string>>('cluster', {
    workflowId: `cluster/${spec.name}`,
    taskQueue: 'heddle',
    args: [spec],
    ...(parentClosePolicy === undefined ? {} : { parentClosePolicy }),
  });
  return child.result();
}
