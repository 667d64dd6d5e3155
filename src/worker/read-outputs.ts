import {
  type Client,
  QueryNotRegisteredError,
  WorkflowNotFoundError,
  type WorkflowHandle,
} from '@temporalio/client';
import type { OutputReader } from '../activities/cluster/imports.js';
import { clusterWorkflowId } from '../model/names.js';
import { clusterMessages } from '../workflows/messages.js';
import { read } from '../client/read.js';

const patienceMs = 20_000;

/** Queries the workflows of clusters for their outputs, and for the clusters whose outputs they use. */
export function outputReader(temporal: Client): OutputReader {
  const ask = <Answer>(
    cluster: string,
    question: (handle: WorkflowHandle) => Promise<Answer>,
  ): Promise<Answer | undefined> =>
    temporal.withDeadline(Date.now() + patienceMs, async () => {
      const handle = temporal.workflow.getHandle(clusterWorkflowId(cluster));
      try {
        // A closed workflow answers queries, too.
        const { status } = await handle.describe();
        return status.name === 'RUNNING' ? await question(handle) : undefined;
      } catch (error) {
        if (error instanceof WorkflowNotFoundError || error instanceof QueryNotRegisteredError)
          return undefined;
        throw error;
      }
    });
  return {
    outputs: (cluster) => ask(cluster, (handle) => read(handle, clusterMessages.queries.outputs)),
    sources: (cluster) => ask(cluster, (handle) => read(handle, clusterMessages.queries.sources)),
  };
}
