import type { Connection } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { temporal } from '@temporalio/proto';

/**
 * Someone without keys who may call Temporal: takes tasks from the queue `attacker` and others, and answers
 * them.
 */
export class Attacker {
  readonly #connection: Connection;
  readonly #namespace: string;

  constructor(connection: Connection, namespace: string) {
    this.#connection = connection;
    this.#namespace = namespace;
  }

  async completeActivity(payload: Payload, queue = 'attacker'): Promise<void> {
    const { taskToken } = await this.#takeActivity(queue);
    const result = { payloads: [payload] };
    await this.#connection.workflowService.respondActivityTaskCompleted({
      namespace: this.#namespace,
      taskToken,
      result,
    });
  }

  /**
   * Leaves the payload as the details of the failure and of the last heartbeat. Returns the activity's id.
   */
  async failActivity(queue: string, payload: Payload): Promise<string> {
    const { taskToken, activityId } = await this.#takeActivity(queue);
    const details = { payloads: [payload] };
    await this.#connection.workflowService.respondActivityTaskFailed({
      namespace: this.#namespace,
      taskToken,
      lastHeartbeatDetails: details,
      failure: { message: 'attack', applicationFailureInfo: { type: 'Attack', details } },
    });
    return activityId;
  }

  completeWorkflow(payload: Payload): Promise<void> {
    return this.#answerWorkflow([
      {
        commandType: temporal.api.enums.v1.CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
        completeWorkflowExecutionCommandAttributes: { result: { payloads: [payload] } },
      },
    ]);
  }

  /** Has a workflow of the attacker schedule one activity for each payload. */
  scheduleActivities(taskQueue: string, name: string, payloads: readonly Payload[]): Promise<void> {
    return this.#answerWorkflow(
      payloads.map((payload, index) => ({
        commandType: temporal.api.enums.v1.CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
        scheduleActivityTaskCommandAttributes: {
          activityId: `${index}`,
          activityType: { name },
          taskQueue: { name: taskQueue },
          input: { payloads: [payload] },
          startToCloseTimeout: { seconds: 60 as never },
          scheduleToCloseTimeout: { seconds: 300 as never },
        },
      })),
    );
  }

  async #answerWorkflow(commands: temporal.api.command.v1.ICommand[]): Promise<void> {
    const request = { namespace: this.#namespace, taskQueue: { name: 'attacker' } };
    const { taskToken } = await this.#connection.withDeadline(Date.now() + 60_000, () =>
      this.#connection.workflowService.pollWorkflowTaskQueue(request),
    );
    await this.#connection.workflowService.respondWorkflowTaskCompleted({
      namespace: this.#namespace,
      taskToken,
      commands,
    });
  }

  #takeActivity(queue: string): Promise<temporal.api.workflowservice.v1.PollActivityTaskQueueResponse> {
    const request = { namespace: this.#namespace, taskQueue: { name: queue } };
    return this.#connection.withDeadline(Date.now() + 60_000, () =>
      this.#connection.workflowService.pollActivityTaskQueue(request),
    );
  }
}
