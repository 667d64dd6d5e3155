/** An event of a history as JSON. */
export interface WrittenEvent {
  eventId: string;
  eventTime: string;
  eventType: string;
  [attributes: string]: unknown;
}

export interface WrittenHistory {
  events: WrittenEvent[];
}

/** What a history looks like when the server or the SDK cuts it into workflow tasks in another way. */
export const cuts: Readonly<Record<string, (history: WrittenHistory) => WrittenHistory>> = {
  /** A task without commands and the next one are given to a worker as one. */
  merged: (history) => merged(history),
  /**
   * As `merged`, and the history has become large in each task in which nothing may depend on
   * that: one that brings only results and schedules no activity.
   */
  'merged, and the history is large where that must not matter': (history) => merged(large(history)),
  /**
   * After each task comes an empty one, as after an update that was refused; the time between passes first.
   */
  spread: (history) =>
    inserted(history, (event, next) => {
      const commands = next !== undefined && isCommand(next);
      const before = event.eventType === completed || isCommand(event);
      return before && !commands && next !== undefined ? emptyTask(next.eventTime) : [];
    }),
  /** Each task times out once, and a later attempt does its work. */
  'timed out': (history) =>
    inserted(history, (_event, next, afterNext) =>
      next?.eventType === scheduled && afterNext?.eventType === started ? lostTask(next.eventTime) : [],
    ),
};

const scheduled = 'EVENT_TYPE_WORKFLOW_TASK_SCHEDULED';
const started = 'EVENT_TYPE_WORKFLOW_TASK_STARTED';
const completed = 'EVENT_TYPE_WORKFLOW_TASK_COMPLETED';
const timedOut = 'EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT';

/** Events that commands of a workflow make. */
const commandTypes =
  /_(ACTIVITY_TASK_SCHEDULED|ACTIVITY_TASK_CANCEL_REQUESTED|TIMER_STARTED|TIMER_CANCELED|MARKER_RECORDED|EXECUTION_INITIATED|PROPERTIES_MODIFIED|SEARCH_ATTRIBUTES|UPDATE_ACCEPTED|UPDATE_COMPLETED|EXECUTION_COMPLETED|EXECUTION_FAILED|EXECUTION_CONTINUED_AS_NEW|EXECUTION_CANCELED)$/;
const notCommands = /_CHILD_WORKFLOW_EXECUTION_(COMPLETED|FAILED|CANCELED)$/;

function isCommand({ eventType }: WrittenEvent): boolean {
  return commandTypes.test(eventType) && !notCommands.test(eventType);
}

function merged(history: WrittenHistory): WrittenHistory {
  const gone = new Set<WrittenEvent>();
  for (const task of tasksOf(history))
    if (isWithoutCommands(history, task)) for (const event of task) gone.add(event);
  return numbered(history.events.filter((event) => !gone.has(event)));
}

/** Inputs and commands of a task in which a workflow reads the size of its history. */
const readsSize =
  /_(WORKFLOW_EXECUTION_SIGNALED|CANCEL_REQUESTED|ACTIVITY_TASK_(?:FAILED|TIMED_OUT|CANCELED|SCHEDULED)|UPDATE_ACCEPTED)$/;

function large({ events }: WrittenHistory): WrittenHistory {
  const attributes = 'workflowTaskStartedEventAttributes';
  // What came before the start was verified is taken in with the first result.
  const first = events.findIndex(({ eventType }) => eventType === 'EVENT_TYPE_ACTIVITY_TASK_COMPLETED');
  const isUnread = (at: number): boolean => {
    let from = at;
    while (from > 0 && events[from - 1]?.eventType !== completed) from -= 1;
    let to = at;
    while (to + 1 < events.length && events[to + 1]?.eventType !== started) to += 1;
    return (
      from > first &&
      first >= 0 &&
      !events.slice(from, to + 1).some(({ eventType }) => readsSize.test(eventType))
    );
  };
  return {
    events: events.map((event, at) =>
      event.eventType === started && isUnread(at)
        ? { ...event, [attributes]: { ...(event[attributes] as object), suggestContinueAsNew: true } }
        : event,
    ),
  };
}

/** The three events of each completed task that stand together. */
function tasksOf({ events }: WrittenHistory): WrittenEvent[][] {
  return events.flatMap((event, index) => {
    const three = events.slice(index, index + 3);
    return three.map(({ eventType }) => eventType).join() === [scheduled, started, completed].join() && event
      ? [three]
      : [];
  });
}

function isWithoutCommands({ events }: WrittenHistory, task: WrittenEvent[]): boolean {
  const next = events[events.indexOf(task[2] as WrittenEvent) + 1];
  return next !== undefined && !isCommand(next);
}

function inserted(
  { events }: WrittenHistory,
  make: (event: WrittenEvent, next?: WrittenEvent, afterNext?: WrittenEvent) => WrittenEvent[],
): WrittenHistory {
  return numbered(
    events.flatMap((event, index) => [event, ...make(event, events[index + 1], events[index + 2])]),
  );
}

function emptyTask(eventTime: string): WrittenEvent[] {
  return [
    task(scheduled, eventTime, 'workflowTaskScheduledEventAttributes', { attempt: 1 }),
    task(started, eventTime, 'workflowTaskStartedEventAttributes', { scheduledEventId: 'new-1' }),
    task(completed, eventTime, 'workflowTaskCompletedEventAttributes', {
      scheduledEventId: 'new-2',
      startedEventId: 'new-1',
    }),
  ];
}

function lostTask(eventTime: string): WrittenEvent[] {
  return [
    ...emptyTask(eventTime).slice(0, 2),
    task(timedOut, eventTime, 'workflowTaskTimedOutEventAttributes', {
      scheduledEventId: 'new-2',
      startedEventId: 'new-1',
      timeoutType: 'TIMEOUT_TYPE_START_TO_CLOSE',
    }),
  ];
}

function task(eventType: string, eventTime: string, attributes: string, values: object): WrittenEvent {
  return { eventId: 'new', eventTime, eventType, [attributes]: values };
}

/** Numbers the events anew, and what refers to them; `new-2` is two events before. */
function numbered(events: readonly WrittenEvent[]): WrittenHistory {
  const ids = new Map<string, number>();
  for (const [index, { eventId }] of events.entries()) if (eventId !== 'new') ids.set(eventId, index + 1);
  // References to events that are gone go to the next one that stayed: tasks of commands are never taken out.
  const idOf = (id: string): string => {
    for (let at = Number(id); at > 0; at -= 1) {
      const here = ids.get(String(at));
      if (here !== undefined) return String(here);
    }
    return '0';
  };
  const walk = (value: unknown, key: string, index: number): unknown => {
    if (typeof value === 'string' && /eventId$/i.test(key))
      return value.startsWith('new-') ? String(index + 1 - Number(value.slice(4))) : idOf(value);
    if (Array.isArray(value)) return value.map((entry) => walk(entry, key, index));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, walk(entry, name, index)]));
  };
  return {
    events: events.map((event, index) => ({
      ...(walk(event, '', index) as WrittenEvent),
      eventId: String(index + 1),
    })),
  };
}
