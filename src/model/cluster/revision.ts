import { revisionWorkflowId } from '../names.js';
import type { Revision } from '../../schema/output/operation.js';
import type { Operation } from './operation.js';
import type { ClusterSpec } from './spec.js';

export type { Revision };

/** How many revisions of its spec a cluster keeps, each in a workflow of its own. */
export const keptRevisions = 10;

/** Input of the workflow that keeps a revision. */
export interface RevisionStart {
  readonly carried: {
    readonly cluster: string;
    readonly clusterUid: string;
    readonly number: number;
    readonly spec: ClusterSpec;
  };
}

/** A request that is delivered again after a reset has the same operation uid, and so the same workflow. */
export function newRevision(cluster: string, number: number, operation: Operation): Revision {
  const { id, uid, by, what, requestedAt } = operation;
  return {
    number,
    workflowId: revisionWorkflowId(cluster, number, uid),
    operation: id,
    by,
    what,
    requestedAt,
  };
}

/** Why a cluster cannot return to the spec before the present one. */
export function missingSpecBeforeText(cluster: string): string {
  return `cluster ${cluster} has no previous spec to return to; correct its file and apply it, or delete it`;
}

/** Why a cluster does not have a revision. */
export function missingRevisionText(
  cluster: string,
  number: number,
  revisions: readonly Pick<Revision, 'number'>[],
): string {
  const [newest, oldest] = [revisions[0]?.number ?? 0, revisions.at(-1)?.number ?? 0];
  if (newest === 0) return `cluster ${cluster} has no revision yet; apply a file first`;
  return number > newest
    ? `cluster ${cluster} has no revision ${number}; the newest is ${newest}`
    : number < oldest
      ? `revision ${number} of cluster ${cluster} is gone: only the last ${keptRevisions} are kept, ${oldest} to ${newest}`
      : `revision ${number} of cluster ${cluster} is gone`;
}
