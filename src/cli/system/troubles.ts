import { recoverCommand } from '../../client/stuck.js';
import { workerLost } from '../../model/node/failure.js';
import { siteOf } from '../../model/names.js';
import type {
  ActivityView,
  NextStep,
  QueueView,
  ServerView,
  Trouble,
  WorkflowView,
} from '../../schema/output/status.js';
import { formatAge } from '../format.js';

const worker: NextStep = { command: 'heddle worker', why: 'run a worker for it' };
const keys: NextStep = {
  command: 'heddle keys import FILE',
  why: 'where the worker runs, then start the worker again',
};
/** Attempts that are not reported: to reach a new machine, and by workers that were killed. */
const quietAttempts: Readonly<Record<string, number>> = { NotReady: 20, [workerLost]: 4 };
/** A worker that starts in place of one that ended polls within this time, in ms. */
const handoverMs = 10_000;

/** What is stuck, the cause before what it causes. */
export function findTroubles({ workflows, activities, queues }: ServerView, now: number): readonly Trouble[] {
  return [
    ...queues.filter((queue) => isUnattended(queue, now)).map((queue) => unattended(queue, activities, now)),
    ...workflows.flatMap((workflow) => stuckWorkflow(workflow, now)),
    ...triedAgain(activities, now),
  ];
}

export function isUnattended({ workers, last }: QueueView, now: number): boolean {
  return workers === 0 && (last === undefined || now - Date.parse(last.at) > handoverMs);
}

function unattended(
  { queue, tasks, last }: QueueView,
  activities: readonly ActivityView[],
  now: number,
): Trouble {
  const waiting = activities.filter(
    (activity) =>
      tasks === 'activities' && activity.queue === queue && activity.state === 'waits for a worker',
  );
  const [first, ...others] = waiting;
  const who =
    first === undefined
      ? ''
      : `; ${first.title}${others.length === 0 ? ' waits' : ` and ${others.length} more wait`} for it for ${formatAge(first.since, now)}`;
  const ago =
    last === undefined ? '' : ` any more (${last.worker} polled last, ${formatAge(last.at, now)} ago)`;
  const what =
    tasks === 'workflows'
      ? 'the workflow cannot continue'
      : `no worker of site ${siteOf(queue)} takes its tasks`;
  return {
    text: `queue ${queue}: no worker polls${ago}, so ${what}${who}`,
    gist: `queue ${queue}: no worker polls, so ${what}`,
    next: worker,
  };
}

function stuckWorkflow({ id, task }: WorkflowView, now: number): readonly Trouble[] {
  if (task?.failure === undefined) return [];
  const { attempt, since, failure } = task;
  return [
    {
      text: `${id} cannot continue: workers failed at it ${attempt - 1} ${attempt === 2 ? 'time' : 'times'} in a row, for ${formatAge(since, now)}: ${failure}`,
      gist: `${id} cannot continue: ${failure}`,
      next: remedyFor(id, failure),
    },
  ];
}

/** Tasks that failed and are retried; the same failure on several nodes is reported once. */
function triedAgain(activities: readonly ActivityView[], now: number): readonly Trouble[] {
  const groups = new Map<string, ActivityView[]>();
  for (const activity of activities) {
    const { failure, attempt, nodeId = '', title } = activity;
    if (failure === undefined || attempt < (quietAttempts[failure.kind] ?? 2)) continue;
    const key = [title, failure.kind, failure.message].map((text) => text.replaceAll(nodeId, '')).join('\n');
    groups.set(key, [...(groups.get(key) ?? []), activity]);
  }
  return [...groups.values()].flatMap(([first, ...others]): readonly Trouble[] => {
    if (first?.failure === undefined) return [];
    const {
      title,
      attempt,
      since,
      failure: { kind, message },
    } = first;
    const also = others.length === 0 ? '' : ` (and the same on ${others.length} more)`;
    // Most messages begin with it themselves.
    const why = message.startsWith(`${title}: `) ? message.slice(title.length + 2) : message;
    return [
      {
        text: `${title} is being retried, attempt ${attempt} after ${formatAge(since, now)}${also}: ${why} (${kind})`,
        gist: `${title} is being retried${also}: ${why} (${kind})`,
        next: isKeyMissing(message) ? keys : undefined,
      },
    ];
  });
}

function remedyFor(id: string, failure: string): NextStep {
  if (isKeyMissing(failure)) return keys;
  return {
    command: recoverCommand(id),
    why: 'find out why, and reset it to its last good task if that helps',
  };
}

function isKeyMissing(message: string): boolean {
  return /encrypt|decrypt/i.test(message) && /\bkeys?\b/i.test(message);
}
