import type { Payload } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { isEnvelope, purposeOf, sealMessage, type MessageKind } from '../model/messages/envelope.js';
import { workflowQueues } from '../model/names.js';
import { startOf, type History, type HistoryEvent } from './read-history.js';

type Payloads = temporal.api.common.v1.IPayloads;

/**
 * Restores the envelopes of messages that the codec server removed; Heddle's workflows refuse messages
 * without one. Other applications have none.
 */
export function wrapMessages(history: History): History {
  if (!workflowQueues.includes(startOf(history).taskQueue?.name ?? '')) return history;
  return { ...history, events: history.events?.map(wrapEvent) ?? [] };
}

function wrapEvent(event: HistoryEvent): HistoryEvent {
  const start = event.workflowExecutionStartedEventAttributes;
  if (start) {
    const input = wrap('start', start.workflowType?.name, start.input);
    return { ...event, workflowExecutionStartedEventAttributes: { ...start, input } };
  }
  const signal = event.workflowExecutionSignaledEventAttributes;
  if (signal) {
    const input = wrap('signal', signal.signalName, signal.input);
    return { ...event, workflowExecutionSignaledEventAttributes: { ...signal, input } };
  }
  const update = event.workflowExecutionUpdateAcceptedEventAttributes;
  const request = update?.acceptedRequest;
  if (!request?.input) return event;
  const input = { ...request.input, args: wrap('update', request.input.name, request.input.args) };
  return {
    ...event,
    workflowExecutionUpdateAcceptedEventAttributes: { ...update, acceptedRequest: { ...request, input } },
  };
}

function wrap(
  kind: MessageKind,
  name: string | null | undefined,
  args: Payloads | null | undefined,
): Payloads {
  const values = (args?.payloads ?? []).map(readJson);
  if (values.length === 1 && isEnvelope(values[0])) return args ?? {};
  const [envelope] = sealMessage(purposeOf(kind, name ?? ''), values);
  const data = Buffer.from(JSON.stringify(envelope));
  return { payloads: [{ metadata: { encoding: Buffer.from('json/plain') }, data }] };
}

/** Undefined for a payload that is not JSON, such as the null of another encoding. */
function readJson({ data }: Payload): unknown {
  try {
    return JSON.parse(Buffer.from(data ?? []).toString('utf8'));
  } catch {
    return undefined;
  }
}
