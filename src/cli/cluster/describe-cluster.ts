import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import type { temporal as proto } from '@temporalio/proto';
import { call } from '../../client/call.js';
import { HeddleError } from '../../client/errors.js';
import { readKeyword } from '../../client/list.js';
import { clusterWorkflowId, searchAttributes } from '../../model/names.js';
import { cleanLine } from '../clean-text.js';
import { CliError } from '../errors.js';
import type { Session } from '../session.js';
import { formatMoment, timeText } from '../format.js';
import { decodeFirst } from '../../client/decode-history.js';

type ExecutionInfo = proto.api.workflow.v1.IWorkflowExecutionInfo | null | undefined;

/** What the server knows about a cluster; needs no worker. */
export interface ClusterDescription {
  readonly name: string;
  readonly uid?: string;
  readonly phase?: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** For a cluster that has ended: how and when. */
  readonly ended?: string;
}

/**
 * Describes an existing cluster.
 * @throws CliError NotFound for a deleted cluster; HeddleError NotFound for one that never existed.
 */
export async function describeCluster(session: Session, name: string): Promise<ClusterDescription> {
  const described = await describeLatest(session, name);
  if (described.ended === undefined) return described;
  throw new CliError(
    'NotFound',
    `cluster ${cleanLine(name)} does not exist: the last one of that name ${described.ended}`,
    { next: 'heddle list' },
  );
}

/** As above, but also for a deleted cluster while the server keeps its history. */
export async function describeLatest({ temporal }: Session, name: string): Promise<ClusterDescription> {
  const what = `cluster ${cleanLine(name)}`;
  const { workflowExecutionInfo: info } = await call(temporal, what, () =>
    temporal.workflowService.describeWorkflowExecution({
      namespace: temporal.options.namespace,
      execution: { workflowId: clusterWorkflowId(name) },
    }),
  ).catch((error: unknown) => {
    if (!(error instanceof HeddleError) || error.code !== 'NotFound') throw error;
    throw new HeddleError('NotFound', `${what} does not exist; run 'heddle list' to see the existing ones`, {
      cause: error,
    });
  });
  const uid = await readUid(temporal, info?.memo?.fields?.['heddleUid']);
  const phase = readKeyword(info?.searchAttributes?.indexedFields?.[searchAttributes.phase]?.data);
  const ended = endOf(info);
  return { name, createdAt: timeText(info?.startTime), uid, phase, ended };
}

/** Undefined without the key: everything else can still be shown. */
async function readUid(temporal: Client, memo: Payload | null | undefined): Promise<string | undefined> {
  if (!memo) return undefined;
  const uid = await decodeFirst(temporal, { payloads: [memo] }).catch(() => undefined);
  return typeof uid === 'string' ? uid : undefined;
}

// temporal.api.enums.v1.WorkflowExecutionStatus
const running = 1;
const endings: Readonly<Record<number, string>> = {
  2: 'was deleted',
  3: 'ended (failed)',
  4: 'ended (cancelled)',
  5: 'ended (terminated)',
  7: 'ended (timed out)',
};

function endOf(info: ExecutionInfo): string | undefined {
  const status: number = info?.status ?? running;
  if (status === running) return undefined;
  const how = endings[status] ?? 'ended';
  return info?.closeTime ? `${how} at ${formatMoment(timeText(info.closeTime))}` : how;
}
