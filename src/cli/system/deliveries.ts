import type { Client } from '@temporalio/client';
import { call } from '../../client/call.js';
import { deliveryWorkflowType } from '../../model/names.js';
import type { DeliveryView } from '../../schema/output/status.js';
import { decodeFailure } from '../../client/decode-history.js';
import { timeText } from '../format.js';
import { readWorkflow } from './server-view.js';

/** How many deliveries are shown. */
const shown = 10;
/** temporal.api.enums.v1.WorkflowExecutionStatus */
const running = 1;

/** Deliveries of a cluster's events to webhooks that are under way or were given up, the newest first. */
export async function readDeliveries(
  client: Client,
  clusterUid: string | undefined,
): Promise<readonly DeliveryView[]> {
  if (clusterUid === undefined) return [];
  const { namespace } = client.options;
  const query = [
    `WorkflowType = '${deliveryWorkflowType}'`,
    `WorkflowId STARTS_WITH 'delivery/${clusterUid}_'`,
    "ExecutionStatus IN ('Running', 'Failed', 'Terminated')",
  ].join(' AND ');
  const { executions } = await call(client, 'deliveries to webhooks', () =>
    client.workflowService.listWorkflowExecutions({ namespace, query, pageSize: shown }),
  );
  return Promise.all(
    executions.map(async ({ execution, startTime, status }) => {
      const id = execution?.workflowId ?? '';
      const [event = '', webhook = ''] = id.split('/').slice(2);
      const view = { id, event, webhook, since: timeText(startTime) };
      return status === running
        ? { ...view, ...(await readAttempt(client, id)) }
        : { ...view, state: 'given up' as const, failure: await readEnd(client, id) };
    }),
  );
}

async function readAttempt(
  client: Client,
  id: string,
): Promise<Pick<DeliveryView, 'state' | 'attempt' | 'failure'>> {
  const { activities } = await call(client, id, () => readWorkflow(client, id));
  const [{ attempt, failure } = { attempt: 1 }] = activities;
  return { state: 'under way', attempt, failure: failure?.message };
}

async function readEnd(client: Client, workflowId: string): Promise<string | undefined> {
  const { namespace } = client.options;
  const { history } = await call(client, workflowId, () =>
    client.workflowService.getWorkflowExecutionHistoryReverse({
      namespace,
      execution: { workflowId },
      maximumPageSize: 1,
    }),
  );
  const failure = history?.events?.[0]?.workflowExecutionFailedEventAttributes?.failure;
  if (!failure) return undefined;
  return decodeFailure(client, failure).then(
    ({ message }) => message,
    () => undefined,
  );
}
