import { Context } from '@temporalio/activity';
import { beginAttempt, type Attempt } from '../attempt.js';
import type { ActivityParts } from '../parts.js';
import { noTaskLog } from '../task-log.js';

export interface LookFacts {
  /** How it reads in logs and messages, such as `SURVEY web`. */
  readonly title: string;
  readonly cluster: string;
  /** The provider account that is asked. */
  readonly provider: string;
}

/** One attempt of an activity that only looks: it belongs to no node, and keeps no log of its own. */
export function openLook(parts: ActivityParts, { title, cluster, provider }: LookFacts): Attempt {
  return beginAttempt(parts, {
    taskId: Context.current().info.activityId,
    title,
    facts: { cluster, provider },
    openLog: () => noTaskLog,
  });
}
