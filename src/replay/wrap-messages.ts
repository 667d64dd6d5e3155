import type { Payload } from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { isEnvelope, purposeOf, sealMessage, type MessageKind } from '../model/messages/envelope.js';
import { protoMs } from '../client/proto-time.js';
import type { Seal } from '../model/messages/seal.js';
import { nothingTaken } from '../model/messages/taken.js';
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
    const input = wrap('start', start.workflowType?.name, start.input, sealOfStart(event));
    return { ...event, workflowExecutionStartedEventAttributes: { ...start, input } };
  }
  const signal = event.workflowExecutionSignaledEventAttributes;
  if (signal) {
    const input = wrap('signal', signal.signalName, signal.input, sealOf(event));
    return { ...event, workflowExecutionSignaledEventAttributes: { ...signal, input } };
  }
  const update = event.workflowExecutionUpdateAcceptedEventAttributes;
  const request = update?.acceptedRequest;
  if (!request?.input) return event;
  const input = {
    ...request.input,
    args: wrap('update', request.input.name, request.input.args, sealOf(event)),
  };
  return {
    ...event,
    workflowExecutionUpdateAcceptedEventAttributes: { ...update, acceptedRequest: { ...request, input } },
  };
}

/**
 * Another seal for those that are gone: the workflow takes each message, as it did unless
 * someone had repeated it. Those that remain name ids of others that are gone.
 */
function sealOf({ eventId, eventTime }: HistoryEvent): Seal {
  return { id: `event ${String(eventId)}`, at: eventTime ? protoMs(eventTime) : 0 };
}

function sealOfStart(event: HistoryEvent): Seal {
  const start = event.workflowExecutionStartedEventAttributes;
  const { continuedExecutionRunId: run, parentWorkflowExecution: parent } = start ?? {};
  const { id, at = 0 } = sealOf(event);
  if (run) return { after: { run, began: 0, taken: nothingTaken } };
  return parent?.runId ? { parent: parent.runId } : { id, at };
}

function wrap(
  kind: MessageKind,
  name: string | null | undefined,
  args: Payloads | null | undefined,
  seal: Seal,
): Payloads {
  const values = (args?.payloads ?? []).map(readJson);
  const [first] = values;
  const own = values.length === 1 && isEnvelope(first) ? first : undefined;
  const purpose = own?.heddle ?? purposeOf(kind, name ?? '');
  const [envelope] = sealMessage(purpose, own?.args ?? values, seal);
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
