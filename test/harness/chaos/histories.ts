import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';

/** Everything that all histories hold, decrypted, as text. */
export async function readHistories(client: Client): Promise<string> {
  const texts: string[] = [];
  for await (const { workflowId, runId } of client.workflow.list()) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    for (const payload of payloadsIn(history)) {
      let opened: readonly Payload[] = [payload];
      if (isSealed(payload))
        for (const codec of client.options.loadedDataConverter.payloadCodecs.toReversed())
          opened = await codec.decode([...opened]);
      texts.push(...opened.map(({ data }) => Buffer.from(data ?? []).toString('utf8')));
    }
    texts.push(JSON.stringify(history));
  }
  return texts.join('\n');
}

function* payloadsIn(value: unknown): Generator<Payload> {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  if ('metadata' in value && 'data' in value && value.data instanceof Uint8Array) {
    yield value as Payload;
    return;
  }
  for (const entry of Object.values(value)) yield* payloadsIn(entry);
}

/** Search attributes and the like stand open in every history. */
function isSealed({ metadata }: Payload): boolean {
  return Buffer.from(metadata?.['encoding'] ?? []).toString() === 'binary/encrypted';
}
