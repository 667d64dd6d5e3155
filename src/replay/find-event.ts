import proto from '@temporalio/proto';
import { idOf, type History, type HistoryEvent } from './read-history.js';
import type { ReplayFailure } from './replayer.js';

/**
 * The event at which a replay failed: the one the message names, or else one of the first workflow task that
 * does not replay, found by bisection.
 */
export interface EventView {
  readonly id: number;
  /** As the Web UI writes it: `ActivityTaskScheduled`. */
  readonly type: string;
  /** What it is about: a task's id, an update's name, a patch. */
  readonly about?: string;
}

/** @param replays whether a history cut short still replays. */
export type Replays = (history: History) => Promise<boolean>;

/**
 * The event at which a replay failed: the one that the message names, else the one of the first workflow task
 * that does not replay, found by halving, that the message speaks of. Where the workflow's code throws, the
 * start of that task.
 */
export async function findEvent(
  history: History,
  { kind, message }: ReplayFailure,
  replays: Replays,
): Promise<EventView | undefined> {
  const named = /HistoryEvent\(id: (\d+)|event_id: (\d+)/.exec(message);
  const events = history.events ?? [];
  if (named !== null) {
    const id = Number(named[1] ?? named[2]);
    const event = events.find((candidate) => idOf(candidate) === id);
    return event === undefined ? undefined : viewEvent(event);
  }
  const { start, suspects } = await firstTaskThatFails(events, replays);
  if (kind === 'failure') return start === undefined ? undefined : viewEvent(start);
  const quoted = [...message.matchAll(/'([^']+)'|for change (\S+),/g)].map(
    ([, one, other]) => one ?? other ?? '',
  );
  const meant =
    suspects.find((event) => quoted.includes(aboutOf(event) ?? '')) ??
    suspects.find(isCommand) ??
    suspects[0];
  return meant === undefined ? undefined : viewEvent(meant);
}

/**
 * The end of the first workflow task whose commands a replay does not make again: everything
 * before it is good. Undefined if no task before the end of the history fails.
 */
export async function firstBadTask(
  { events = [] }: History,
  replays: Replays,
): Promise<HistoryEvent | undefined> {
  const { suspects } = await firstTaskThatFails(events ?? [], replays);
  return suspects.find((event) => event.workflowTaskCompletedEventAttributes);
}

export function viewEvent(event: HistoryEvent): EventView {
  const about = aboutOf(event);
  return { id: idOf(event), type: typeOf(event), about };
}

/**
 * A replay of a history that ends at a workflow task's start checks all tasks before it, so the shortest
 * failing history identifies the task.
 */
async function firstTaskThatFails(
  events: readonly HistoryEvent[],
  replays: Replays,
): Promise<{ readonly start?: HistoryEvent | undefined; readonly suspects: readonly HistoryEvent[] }> {
  const ends = events.flatMap(({ workflowTaskStartedEventAttributes }, index) =>
    workflowTaskStartedEventAttributes ? [index + 1] : [],
  );
  if (ends.at(-1) !== events.length) ends.push(events.length);
  let good = 0;
  let bad = ends.length - 1;
  while (good < bad) {
    const middle = (good + bad) >> 1;
    if (await replays({ events: events.slice(0, ends[middle]) })) good = middle + 1;
    else bad = middle;
  }
  const begin = ends[bad - 1] ?? 0;
  return {
    start: events[begin === 0 ? (ends[0] ?? 1) - 1 : begin - 1],
    suspects: events.slice(begin, ends[bad]),
  };
}

/** Events that a workflow's commands cause; the server adds the others. */
function isCommand(event: HistoryEvent): boolean {
  return /^(ActivityTask(Scheduled|CancelRequested)|Timer(Started|Canceled)|MarkerRecorded|StartChild\w+Initiated|\w*ExternalWorkflow\w+Initiated|Upsert\w+|WorkflowProperties\w+|WorkflowExecution(Completed|Failed|ContinuedAsNew|UpdateAccepted))$/.test(
    typeOf(event),
  );
}

function typeOf({ eventType }: HistoryEvent): string {
  const name = proto.temporal.api.enums.v1.EventType[eventType ?? 0] ?? String(eventType);
  return name
    .replace(/^EVENT_TYPE_/, '')
    .toLowerCase()
    .replaceAll(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase());
}

function aboutOf(event: HistoryEvent): string | undefined {
  const about =
    event.activityTaskScheduledEventAttributes?.activityId ??
    event.timerStartedEventAttributes?.timerId ??
    event.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId ??
    event.signalExternalWorkflowExecutionInitiatedEventAttributes?.signalName ??
    event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input?.name ??
    patchOf(event);
  return about ?? undefined;
}

/** A patch's marker holds its id as JSON that is never encrypted. */
function patchOf({ markerRecordedEventAttributes: marker }: HistoryEvent): string | undefined {
  const data = marker?.details?.['patch-data']?.payloads?.[0]?.data;
  if (!data) return marker?.markerName ?? undefined;
  return /"id":"([^"]+)"/.exec(Buffer.from(data).toString('utf8'))?.[1];
}
