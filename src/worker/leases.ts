import {
  type Client,
  QueryNotRegisteredError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import type { NodeLeases } from '../activities/image/lease-node.js';
import { clusterMessages, nodeMachineMessages } from '../workflows/messages.js';
import { read } from '../client/read.js';

const patienceMs = 20_000;

/** Queries workflows that own nodes, and those that lease them. */
export function leasesOf(temporal: Client): NodeLeases {
  const patiently = <Value>(work: () => Promise<Value>): Promise<Value> =>
    temporal.withDeadline(Date.now() + patienceMs, work);
  return {
    find: (workflowId, nodeId) =>
      patiently(async () => {
        const handle = temporal.workflow.getHandle(workflowId);
        return (await isOpen(temporal, workflowId))
          ? read(handle, clusterMessages.queries.node, nodeId)
          : 'gone';
      }),
    lease: (workflowId, request) =>
      patiently(async () => {
        try {
          await temporal.workflow
            .getHandle(workflowId)
            .executeUpdate(clusterMessages.updates.lease, { args: [request] });
          return undefined;
        } catch (error) {
          if (error instanceof WorkflowUpdateFailedError) return error.cause?.message ?? error.message;
          if (error instanceof WorkflowNotFoundError) return `${workflowId.replace('/', ' ')} does not exist`;
          throw error;
        }
      }),
    release: (workflowId, request) =>
      patiently(() =>
        temporal.workflow.getHandle(workflowId).signal(clusterMessages.signals.release, request),
      ),
    has: (workflowId, lease) =>
      patiently(async () => {
        try {
          return (
            (await isOpen(temporal, workflowId)) &&
            (await read(temporal.workflow.getHandle(workflowId), nodeMachineMessages.queries.leased, lease))
          );
        } catch (error) {
          if (error instanceof QueryNotRegisteredError) return false;
          throw error;
        }
      }),
  };
}

/** A closed workflow answers queries, too. */
async function isOpen(temporal: Client, workflowId: string): Promise<boolean> {
  try {
    const { status } = await temporal.workflow.getHandle(workflowId).describe();
    return status.name === 'RUNNING' || status.name === 'CONTINUED_AS_NEW';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
