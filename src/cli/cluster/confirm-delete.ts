import { HeddleError } from '../../client/errors.js';
import { lostOutputs } from '../../model/cluster/lost-outputs.js';
import { lockedText } from '../../model/cluster/locked.js';
import type { ClusterStatus } from '../../schema/output/status.js';
import { CliError } from '../errors.js';
import { formatCount } from '../format.js';
import type { Session } from '../session.js';
import { confirm, type Confirmation } from '../terminal.js';
import { describeCluster } from './describe-cluster.js';

const shownNames = 10;

/**
 * Shows what a deletion destroys, and asks for confirmation.
 * @throws CliError NotFound, Refused for a locked cluster, and as `confirm`.
 */
export async function confirmDelete(session: Session, name: string, options: Confirmation): Promise<void> {
  const status = await statusIfKnown(session, name);
  for (const warning of lostOutputs({ readers: status?.readers }, { kind: 'delete' }, undefined))
    session.output.note(`warning: ${warning}`);
  if (options.yes === true) return;
  await describeCluster(session, name);
  if (status?.locked === true) throw new CliError('Refused', lockedText(name));
  const loss = status === undefined ? 'no worker responds, so its nodes are unknown' : describeLoss(status);
  await confirm(`Delete cluster ${name} (${loss})?`, options);
}

/** Undefined without a worker, which a deletion does not need. */
async function statusIfKnown({ client }: Session, name: string): Promise<ClusterStatus | undefined> {
  try {
    return await client.status(name);
  } catch (error) {
    if (error instanceof HeddleError && error.code === 'NoWorker') return undefined;
    throw error;
  }
}

function describeLoss({ nodes, services }: ClusterStatus): string {
  if (nodes.length === 0) return 'it has no nodes';
  const names = Object.keys(services);
  const nodeNames = someOf(nodes.map(({ nodeId }) => nodeId));
  const running = names.length === 0 ? '' : `; services ${someOf(names)}`;
  return `${formatCount(nodes.length, 'node')} with machines and disks: ${nodeNames}${running}`;
}

function someOf(names: readonly string[]): string {
  const others = names.length - shownNames;
  return `${names.slice(0, shownNames).join(', ')}${others > 0 ? ` and ${others} others` : ''}`;
}
