import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  startChild,
} from '@temporalio/workflow';
import {
  keptRevisions,
  newRevision,
  type Revision,
  type RevisionStart,
} from '../../model/cluster/revision.js';
import type { ClusterSpec } from '../../model/cluster/spec.js';
import type { Json } from '../../model/json.js';
import { revisionWorkflowType } from '../../model/names.js';
import { stableJson } from '../../model/node/payload.js';
import { workflowTaskMs } from '../../model/resumption.js';
import { change } from '../entity.js';
import { revisionMessages } from '../messages.js';
import { changeOperation, type Memory } from './memory.js';

/**
 * Stores a spec that is about to be accepted, if it differs from the one before. The cluster has the revision
 * once {@link noteRevision} is called.
 */
export async function storeRevision(memory: Memory, spec: ClusterSpec): Promise<Revision | undefined> {
  const { operation, counters, name, uid: clusterUid, spec: present } = memory.state;
  const isSame =
    present !== undefined && stableJson(present as unknown as Json) === stableJson(spec as unknown as Json);
  if (operation === undefined || isSame) return undefined;
  const number = counters.revision + 1;
  const revision = newRevision(name, number, operation);
  await start(revision, { carried: { cluster: name, clusterUid, number, spec } });
  return revision;
}

/** @returns the revisions that the cluster no longer keeps, to be dropped. */
export function noteRevision(memory: Memory, added: Revision | undefined): readonly Revision[] {
  const { counters, revisions } = memory.state;
  const known = added === undefined ? revisions : [added, ...revisions];
  const number = added?.number ?? counters.revision;
  change(memory, { counters: { ...counters, revision: number }, revisions: known.slice(0, keptRevisions) });
  changeOperation(memory, { revision: number });
  return known.slice(keptRevisions);
}

/** At the end of the cluster. */
export async function dropRevisions(memory: Memory): Promise<void> {
  const { revisions } = memory.state;
  change(memory, { revisions: [] });
  await endRevisions(revisions);
}

async function start({ workflowId }: Revision, input: RevisionStart): Promise<void> {
  const { cluster, number } = input.carried;
  try {
    await CancellationScope.nonCancellable(() =>
      startChild<(start: RevisionStart) => Promise<string>>(revisionWorkflowType, {
        workflowId,
        args: [input],
        workflowTaskTimeout: workflowTaskMs,
        parentClosePolicy: ParentClosePolicy.ABANDON,
        cancellationType: ChildWorkflowCancellationType.ABANDON,
        staticSummary: `revision ${number} of cluster ${cluster}`,
      }),
    );
  } catch (error) {
    // The same operation brought the same spec before a reset.
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

/** Ends the workflows of revisions. */
export async function endRevisions(revisions: readonly Revision[]): Promise<void> {
  // One that no longer exists needs no signal.
  await Promise.allSettled(
    revisions.map(({ workflowId }) =>
      getExternalWorkflowHandle(workflowId).signal(revisionMessages.signals.drop),
    ),
  );
}
