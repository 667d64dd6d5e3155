import { activityInfo } from '@temporalio/activity';
import type { Json } from '../model/json.js';
import { stableJson } from '../model/node/payload.js';
import { PluginError } from '../plugins/errors.js';
import type { Attempt } from './attempt.js';
import type { ActivityParts } from './parts.js';

export interface RecordedMark {
  readonly mark: Json;
  /** What is noted, for messages. */
  readonly what: string;
}

/**
 * Marks the task; when this returns, every later attempt sees the mark. Restores the previous
 * mark on failure.
 * @throws PluginError Retryable if the server does not take it.
 */
export async function recordMark(
  parts: Pick<ActivityParts, 'runs'>,
  attempt: Attempt,
  { mark, what }: RecordedMark,
): Promise<void> {
  const before = attempt.marked();
  if (isSame(before, mark)) return;
  attempt.mark(mark);
  try {
    await recordHeartbeat(parts, attempt, what);
  } catch (error) {
    attempt.mark(before ?? null);
    throw error;
  }
}

/**
 * Sends what the attempt has marked at once. The server takes no heartbeat of an attempt that
 * another one has replaced.
 * @throws PluginError Retryable if the server does not take it.
 */
export async function recordHeartbeat(
  { runs }: Pick<ActivityParts, 'runs'>,
  attempt: Attempt,
  what: string,
): Promise<void> {
  const { workflowExecution, activityId, taskToken: token } = activityInfo();
  if (workflowExecution === undefined) return;
  attempt.at(`records ${what}`);
  const task = { workflowId: workflowExecution.workflowId, activityId, token };
  const refused = (why: string, cause?: unknown): PluginError =>
    new PluginError(
      'Retryable',
      `${what} could not be recorded: ${why}`,
      cause === undefined ? {} : { cause },
    );
  const isTaken = await runs.recordHeartbeat(task, attempt.heartbeat()).catch((error: unknown) => {
    throw refused(error instanceof Error ? error.message : String(error), error);
  });
  if (!isTaken) throw refused('another attempt has replaced this one');
}

function isSame(one: Json | undefined, other: Json): boolean {
  return one !== undefined && stableJson(one) === stableJson(other);
}
