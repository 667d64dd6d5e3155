import { HeddleError } from '../../client/errors.js';
import type { SshTarget } from '../../ssh/target.js';
import { CliError } from '../errors.js';
import { findTarget } from '../login.js';
import type { Session } from '../session.js';
import { requireCluster } from './cluster-verb.js';

/** How to log in to a node of a cluster. @throws CliError NotFound, Refused; HeddleError NoWorker */
export async function findNodeTarget(session: Session, name: string, node: string): Promise<SshTarget> {
  await requireCluster(session, name);
  const { nodes } = await session.client.status(name);
  const account = nodes.find(({ nodeId }) => nodeId === node)?.provider ?? '';
  return findTargetOf(session, { cluster: name, node, account });
}

interface AccountNode {
  readonly cluster: string;
  readonly node: string;
  /** Provider account of its machine. */
  readonly account: string;
}

/** The same of a node whose account is known. */
export async function findTargetOf(
  { client, config }: Pick<Session, 'client' | 'config'>,
  { cluster, node, account }: AccountNode,
): Promise<SshTarget> {
  const payload = await client.payload(cluster, node).catch((cause: unknown) => {
    if (!(cause instanceof HeddleError) || cause.code !== 'NotFound') throw cause;
    throw new CliError('NotFound', cause.message, { next: `heddle nodes ${cluster}`, cause });
  });
  return findTarget(config, { node, account, payload });
}
