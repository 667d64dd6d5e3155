import type { Client } from '@temporalio/client';
import type { InFlightList } from '../activities/in-flight.js';
import type { WorkerLog } from '../activities/parts.js';
import { listOpenWorkflows } from '../client/list.js';

/** The bucket that stack dumps are logged under. */
const bucket = 'heddle.stack_dump';

/** Logs every attempt in flight and the stack of every open workflow, while the worker continues. */
export async function dumpStacks(log: WorkerLog, inFlight: InFlightList, temporal: Client): Promise<void> {
  const now = Date.now();
  const attempts = inFlight.list();
  log.info({ bucket, attempts: attempts.length }, `${attempts.length} tasks in flight`);
  for (const attempt of attempts) {
    const { step, since, stack } = attempt.at();
    log.info(
      {
        bucket,
        task: attempt.taskId,
        attempt: attempt.attempt,
        step,
        ageMs: now - attempt.startedAt,
        stepMs: now - since,
        lastHeartbeatMs: now - attempt.lastHeartbeat(),
        stack,
      },
      attempt.title,
    );
  }
  try {
    for (const workflowId of await listOpenWorkflows(temporal)) await dumpWorkflow(log, temporal, workflowId);
  } catch (error) {
    log.info({ bucket, error: String(error) }, 'the open workflows could not be listed');
  }
}

/** One that does not answer must not keep the others from being asked. */
async function dumpWorkflow(log: WorkerLog, temporal: Client, workflowId: string): Promise<void> {
  try {
    const stack = await temporal.withDeadline(Date.now() + 10_000, () =>
      temporal.workflow.getHandle(workflowId).query<string>('__stack_trace'),
    );
    log.info({ bucket, workflow: workflowId, stack }, `workflow ${workflowId}`);
  } catch (error) {
    log.info(
      { bucket, workflow: workflowId, error: String(error) },
      `workflow ${workflowId} did not return its stack`,
    );
  }
}
