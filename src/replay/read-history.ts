import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import type { temporal } from '@temporalio/proto';
import { expandPayloads } from './expand-payloads.js';

export type History = temporal.api.history.v1.IHistory;
export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

/** The input is not a replayable history; the message says why and what to do. */
export class HistoryError extends Error {
  override readonly name = 'HistoryError';
}

/**
 * Reads a history: a download of the Web UI, output of `temporal workflow show --output json`, parsed JSON,
 * or one that a client fetched. @throws HistoryError
 */
export function readHistory(given: unknown): History {
  // The source of the histories failed to read this one; the others are replayed.
  if (given instanceof HistoryError) throw given;
  const parsed = typeof given === 'string' ? parse(given) : given;
  const events = eventsOf(parsed);
  const [first] = events;
  if (first === undefined) throw new HistoryError(`is a history without a single event. ${exportRemedy}`);
  const history = isFetched(first) ? { events: events as HistoryEvent[] } : convert(events);
  checkWhole(history);
  return history;
}

/** The attributes of the event that every history begins with. */
export function startOf({
  events,
}: History): temporal.api.history.v1.IWorkflowExecutionStartedEventAttributes {
  return events?.[0]?.workflowExecutionStartedEventAttributes ?? {};
}

export function idOf({ eventId }: HistoryEvent): number {
  return Number(String(eventId ?? 0));
}

/** The remedy for a file that is not a history. */
export const exportRemedy =
  'Export one with: temporal workflow show --workflow-id cluster/NAME --output json >FILE';

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message may quote the text.
    const place = /at position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
    const where = place === undefined ? '' : `, from character ${place} on`;
    throw new HistoryError(`is not JSON${where}. ${exportRemedy}`, { cause: error });
  }
}

function eventsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (isRecord(value)) {
    if (Array.isArray(value.events)) return value.events;
    // As the server's HTTP interface answers.
    if (isRecord(value.history) && Array.isArray(value.history.events)) return value.history.events;
  }
  throw new HistoryError(`is JSON, but not a history: it has no list "events". ${exportRemedy}`);
}

/** In JSON the ids of events are text. */
function isFetched(event: unknown): boolean {
  return isRecord(event) && typeof event.eventId === 'object' && event.eventId !== null;
}

function convert(events: readonly unknown[]): History {
  try {
    return historyFromJSON({ events: events.map((event) => expandPayloads(event)) });
  } catch (error) {
    throw new HistoryError(
      `is JSON, but not a history: ${error instanceof Error ? error.message.slice(0, 300) : String(error)}. ${exportRemedy}`,
      { cause: error },
    );
  }
}

function checkWhole({ events }: History): void {
  const [first] = events ?? [];
  if (!first?.workflowExecutionStartedEventAttributes) {
    throw new HistoryError(
      `does not begin with the start of a workflow, and only a whole history can be replayed. ${exportRemedy}`,
    );
  }
  const gap = (events ?? []).findIndex((event, index) => idOf(event) !== index + 1);
  if (gap !== -1)
    throw new HistoryError(
      `lacks event ${gap + 1}, and only a whole history can be replayed. ${exportRemedy}`,
    );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
