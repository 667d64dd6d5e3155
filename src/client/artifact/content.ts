import { createHash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { isGrpcServiceError, type Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { openMessage, purposeOf } from '../../model/messages/envelope.js';
import { workflowQueue, artifactPartWorkflowId, artifactPartWorkflowType } from '../../model/names.js';
import {
  maxResourceBytes,
  partsOf,
  resourcePartBytes,
  type ResourceContent,
} from '../../model/artifact/state.js';
import type { ResourceFormat } from '../../model/artifact/reference.js';
import type { PartHeader } from '../../model/artifact/contract.js';

/** Content that is missing or corrupt. */
export class ContentError extends Error {
  override readonly name = 'ContentError';
}

export interface Sending {
  readonly format: ResourceFormat;
  readonly bytes: Uint8Array;
  /** For people, in the Web UI. */
  readonly label: string;
}

/** Parts that are transferred concurrently. */
const atOnce = 4;

export function contentOf({ format, bytes }: Pick<Sending, 'format' | 'bytes'>): ResourceContent {
  return { digest: digestOf(bytes), format, bytes: bytes.length, parts: partsOf(bytes.length) };
}

/**
 * Sends a content to the server, part by part; existing parts are unchanged. Until the
 * catalogue has the content, its parts expire after an hour.
 */
export async function sendContent(
  temporal: Client,
  { format, bytes, label }: Sending,
): Promise<ResourceContent> {
  const content = contentOf({ format, bytes });
  const send = async (part: number): Promise<void> => {
    const header: PartHeader = { ...content, part };
    // Each part is packed by itself, so that those of two senders fit together.
    const packed = deflateRawSync(
      bytes.subarray(part * resourcePartBytes, (part + 1) * resourcePartBytes),
    ).toString('base64');
    await temporal.workflow.start(artifactPartWorkflowType, {
      workflowId: artifactPartWorkflowId(content.digest, part),
      taskQueue: workflowQueue,
      args: [header, packed],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `part ${part + 1} of ${content.parts} of resource ${label}`,
    });
  };
  await eachOf(content.parts, send);
  return content;
}

/**
 * Reads a content by its digest; the first part holds the number of parts.
 * @throws ContentError if it is incomplete, or does not match its digest. Other errors of the server
 * are thrown unchanged.
 */
export async function readContent(temporal: Client, digest: string): Promise<Uint8Array> {
  const [header, first] = await readPart(temporal, digest, 0);
  if (header.bytes > maxResourceBytes || header.parts !== partsOf(header.bytes))
    throw new ContentError(
      `its first part declares ${header.bytes} bytes in ${header.parts} parts, which is impossible`,
    );
  const parts: Uint8Array[] = [first];
  await eachOf(header.parts - 1, async (index) => {
    [, parts[index + 1]] = await readPart(temporal, digest, index + 1);
  });
  const bytes = Buffer.concat(parts);
  if (digestOf(bytes) !== digest)
    throw new ContentError('the stored content does not match its digest; it was changed');
  return bytes;
}

async function readPart(
  temporal: Client,
  digest: string,
  part: number,
): Promise<readonly [PartHeader, Uint8Array]> {
  const workflowId = artifactPartWorkflowId(digest, part);
  const { namespace } = temporal.options;
  const page = await temporal.workflowService
    .getWorkflowExecutionHistory({ namespace, execution: { workflowId }, maximumPageSize: 1 })
    .catch((cause: unknown) => {
      if (isGrpcServiceError(cause) && [notFound, invalidArgument].includes(Number(cause.code)))
        throw new ContentError(`part ${part} is missing`, { cause });
      throw cause;
    });
  const payloads = page.history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const purpose = purposeOf('start', artifactPartWorkflowType);
  const opened = openMessage(purpose, await decodeAll(temporal, payloads as Payload[]), Date.now());
  const [header, packed] = (opened.ok ? opened.args : []) as [PartHeader | undefined, unknown];
  if (header === undefined || typeof packed !== 'string')
    throw new ContentError(`part ${part} has other content`);
  try {
    return [header, inflateRawSync(Buffer.from(packed, 'base64'), { maxOutputLength: resourcePartBytes })];
  } catch (cause) {
    throw new ContentError(`part ${part} cannot be unpacked`, { cause });
  }
}

async function decodeAll(temporal: Client, payloads: Payload[]): Promise<unknown[]> {
  const { payloadCodecs, payloadConverter } = temporal.options.loadedDataConverter;
  let decoded = payloads;
  for (const codec of payloadCodecs.toReversed()) decoded = await codec.decode(decoded);
  return decoded.map((payload) => payloadConverter.fromPayload(payload));
}

/** gRPC status codes, as the protocol numbers them. */
const [invalidArgument, notFound] = [3, 5];

async function eachOf(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      await work(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, lane));
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
