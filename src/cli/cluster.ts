import type { WorkflowExecutionDescription } from '@temporalio/client';
import { call } from '../client/call.js';
import { clusterWorkflowId, searchAttributes } from '../model/names.js';
import { cleanLine } from './clean-text.js';
import { CliError } from './cli-error.js';
import type { Session } from './session.js';
import { formatMoment } from './time-text.js';

/** What the server alone knows of a cluster; no worker is needed. */
export interface ClusterDescription {
  readonly name: string;
  readonly uid?: string;
  readonly phase?: string;
  /** RFC 3339. */
  readonly createdAt: string;
  /** Of a cluster that is no more: how and when it ended. */
  readonly ended?: string;
}

/**
 * Asks the server for a cluster that lives.
 * @throws CliError NotFound for one that was deleted; HeddleError NotFound for one that never was.
 */
export async function describeCluster(session: Session, name: string): Promise<ClusterDescription> {
  const described = await describeLatest(session, name);
  if (described.ended === undefined) return described;
  throw new CliError('NotFound', `there is no cluster ${cleanLine(name)}: the last one of that name ${described.ended}`, { next: 'heddle list' });
}

/** The same, but a deleted cluster counts too, for as long as the server keeps its history. */
export async function describeLatest({ temporal }: Session, name: string): Promise<ClusterDescription> {
  const described = await call(temporal, `cluster ${cleanLine(name)}`, () => temporal.workflow.getHandle(clusterWorkflowId(name)).describe());
  const { heddleUid: uid } = described.memo ?? {};
  const phase = phaseOf(described);
  const ended = endOf(described);
  return {
    name, createdAt: described.startTime.toISOString(),
    ...(typeof uid === 'string' ? { uid } : {}), ...(phase === undefined ? {} : { phase }), ...(ended === undefined ? {} : { ended }),
  };
}

function endOf({ status, closeTime }: WorkflowExecutionDescription): string | undefined {
  if (status.name === 'RUNNING') return undefined;
  const how = status.name === 'COMPLETED' ? 'was deleted' : `ended (${status.name.toLowerCase()})`;
  return closeTime === undefined ? how : `${how} at ${formatMoment(closeTime.toISOString())}`;
}

function phaseOf(described: WorkflowExecutionDescription): string | undefined {
  const attributes = described.searchAttributes as Readonly<Record<string, readonly unknown[] | undefined>>;
  const phase = attributes[searchAttributes.phase]?.[0];
  return typeof phase === 'string' ? phase : undefined;
}
