import { Client, type Connection, type WorkflowHandle } from '@temporalio/client';
import type { DataConverter, Payload, SerializationContext } from '@temporalio/common';
import proto from '@temporalio/proto';

const { Payload: PayloadMessage } = proto.temporal.api.common.v1;

/** What a caller without keys reads from a history, and can send again. */
export interface RecordedMessage {
  readonly kind: 'start' | 'update' | 'signal';
  readonly name: string;
  /** For the repeating client. */
  readonly args: readonly unknown[];
}

/** The messages of a run, oldest first. */
export async function recordedMessages(handle: WorkflowHandle): Promise<readonly RecordedMessage[]> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).flatMap((event): readonly RecordedMessage[] => {
    const {
      workflowExecutionStartedEventAttributes: start,
      workflowExecutionSignaledEventAttributes: signal,
      workflowExecutionUpdateAcceptedEventAttributes: update,
    } = event;
    if (start) return [messageOf('start', start.workflowType?.name, start.input?.payloads)];
    if (signal) return [messageOf('signal', signal.signalName, signal.input?.payloads)];
    const { input } = update?.acceptedRequest ?? {};
    return input ? [messageOf('update', input.name, input.args?.payloads)] : [];
  });
}

function messageOf(
  kind: RecordedMessage['kind'],
  name: string | null | undefined,
  payloads: readonly Payload[] | null | undefined,
): RecordedMessage {
  const args = (payloads ?? []).map(({ metadata, data }) => {
    // The server gives the entries of a map in any order.
    const sorted = Object.fromEntries(Object.entries(metadata ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)));
    const payload = PayloadMessage.encode({ metadata: sorted, data }).finish();
    return { recorded: Buffer.from(payload).toString('base64') };
  });
  return { kind, name: name ?? '', args };
}

/**
 * A client without keys: it sends recorded payloads as they are.
 * @param reader Only for the test, which wants to see why the client is refused.
 */
export function repeatingClient(
  connection: Connection,
  namespace: string,
  reader: DataConverter = {},
): Client {
  const [codec] = reader.payloadCodecs ?? [];
  const raw = {
    encode: (payloads: Payload[]) => Promise.resolve(payloads.map(asRecorded)),
    decode: async (payloads: Payload[], context?: SerializationContext) =>
      codec === undefined ? payloads : codec.decode(payloads, context),
  };
  return new Client({ connection, namespace, dataConverter: { ...reader, payloadCodecs: [raw] } });
}

function asRecorded(payload: Payload): Payload {
  const { recorded } = JSON.parse(Buffer.from(payload.data ?? []).toString()) as {
    readonly recorded: string;
  };
  return PayloadMessage.decode(Buffer.from(recorded, 'base64'));
}
