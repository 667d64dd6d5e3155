import type { Client } from '@temporalio/client';
import type { ClusterStatus, GroupStatus, NodeStatus } from '../schema/output/status.js';
import { groupMessages } from '../workflows/messages.js';
import { call } from './call.js';
import { read } from './read.js';

/** Concurrent queries; each group answers from its own workflow. */
const atOnce = 5;

/** The nodes that the groups of a large cluster carry. */
export async function nodesOfGroups(
  temporal: Client,
  groups: readonly GroupStatus[],
): Promise<readonly NodeStatus[]> {
  const nodes: NodeStatus[] = [];
  const open = groups.filter(({ lost }) => lost !== true);
  const ask = async (): Promise<void> => {
    for (let group = open.shift(); group !== undefined; group = open.shift()) {
      const { workflowId } = group;
      nodes.push(
        ...(await call(temporal, `nodes of ${workflowId}`, () =>
          read(temporal.workflow.getHandle(workflowId), groupMessages.queries.nodes),
        )),
      );
    }
  };
  await Promise.all(Array.from({ length: atOnce }, ask));
  return nodes;
}

/** A cluster's status with the nodes of its groups put in. */
export function withGroups(summary: ClusterStatus, inGroups: readonly NodeStatus[]): ClusterStatus {
  const nodes = [...summary.nodes, ...inGroups].toSorted((a, b) => a.nodenum - b.nodenum);
  const services = Object.fromEntries(
    Object.keys(summary.services).map((service) => [
      service,
      { nodes: nodes.filter((node) => node.services.includes(service)).map(({ nodeId }) => nodeId) },
    ]),
  );
  return { ...summary, nodes, services };
}
