import { type Client, QueryNotRegisteredError, WorkflowNotFoundError } from '@temporalio/client';
import type { ReadOutputs } from '../activities/cluster/imports.js';
import { clusterWorkflowId } from '../model/names.js';
import { outputsQuery } from '../workflows/cluster/messages.js';

const patienceMs = 20_000;

/** Asks the workflows of clusters for their outputs. */
export function readOutputsBy(temporal: Client): ReadOutputs {
  return (cluster) =>
    temporal.withDeadline(Date.now() + patienceMs, async () => {
      const handle = temporal.workflow.getHandle(clusterWorkflowId(cluster));
      try {
        // A closed workflow answers queries, too.
        const { status } = await handle.describe();
        return status.name === 'RUNNING' ? await handle.query(outputsQuery) : undefined;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError || error instanceof QueryNotRegisteredError)
          return undefined;
        throw error;
      }
    });
}
