import type { Client } from '@temporalio/client';
import { machineWorkflowType } from '../../model/names.js';

/** Names of the machines that are registered, as the server's index has them. */
export function listMachineNames(temporal: Client): Promise<readonly string[]> {
  return listNamesOf(temporal, machineWorkflowType);
}

/** Names in the ids `<type>/<name>` of the workflows of a type that run. */
export async function listNamesOf(temporal: Client, type: string): Promise<readonly string[]> {
  const { namespace } = temporal.options;
  const query = `WorkflowType = '${type}' AND ExecutionStatus = 'Running'`;
  const names: string[] = [];
  for (let nextPageToken: Uint8Array | undefined; nextPageToken === undefined || nextPageToken.length > 0;) {
    const page: Awaited<ReturnType<Client['workflowService']['listWorkflowExecutions']>> =
      await temporal.workflowService.listWorkflowExecutions({
        namespace,
        query,
        pageSize: 1_000,
        nextPageToken,
      });
    names.push(
      ...page.executions.flatMap(({ execution }) => execution?.workflowId?.slice(type.length + 1) ?? []),
    );
    ({ nextPageToken } = page);
  }
  return names.toSorted();
}
