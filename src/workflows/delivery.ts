import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  ChildWorkflowCancellationType,
  ParentClosePolicy,
  startChild,
} from '@temporalio/workflow';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import { deliveryWorkflowId, deliveryWorkflowType } from '../model/names.js';
import type { HeddleEvent, Webhook } from '../model/event.js';
import { subscribers, type Delivery } from '../model/webhook.js';
import { schedule } from './schedule.js';

/**
 * Delivers one event to one webhook. A workflow of its own, so that a receiver that is down
 * delays nothing else.
 */
export async function delivery({ webhook, event }: Delivery): Promise<string> {
  try {
    const { status, attempts } = await schedule(
      'DELIVER',
      { webhook, event },
      { summary: `DELIVER ${event.type} to ${webhook}` },
    );
    return `${webhook} answered ${status} at attempt ${attempts}`;
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    throw ApplicationFailure.nonRetryable(error.cause?.message ?? error.message, 'NotDelivered');
  }
}

/**
 * Starts a delivery to each webhook that subscribes to the event. Repeated for the same event,
 * it starts none twice.
 */
export async function startDeliveries(webhooks: readonly Webhook[], event: HeddleEvent): Promise<void> {
  for (const { name: webhook } of subscribers(webhooks, event.type))
    await CancellationScope.nonCancellable(() => startDelivery({ webhook, event }));
}

async function startDelivery(request: Delivery): Promise<void> {
  const { webhook, event } = request;
  try {
    await startChild<(request: Delivery) => Promise<string>>(deliveryWorkflowType, {
      workflowId: deliveryWorkflowId(event, webhook),
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      args: [request],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      cancellationType: ChildWorkflowCancellationType.ABANDON,
      staticSummary: `${event.type} to ${webhook}`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
