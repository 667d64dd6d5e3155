import type { Client } from '@temporalio/client';
import { ApplicationFailure, type Payload, type ProtoFailure } from '@temporalio/common';
import { isEnvelope } from '../model/messages/envelope.js';
import { readSealedFailure } from '../model/messages/sealed-failure.js';
import { readSealedResult } from '../model/messages/sealed-result.js';
import { isJsonObject, type Json, type JsonObject } from '../model/json.js';

type Payloads = NonNullable<ProtoFailure['applicationFailureInfo']>['details'];

/** The first value of a list of payloads in a history, decrypted; for a message its first argument. */
export async function decodeFirst(client: Client, payloads: Payloads): Promise<unknown> {
  const [first] = payloads?.payloads ?? [];
  if (first === undefined) return undefined;
  const { payloadConverter } = client.options.loadedDataConverter;
  const value = payloadConverter.fromPayload<unknown>(await decodePayload(client, first));
  return isEnvelope(value) ? value.args[0] : value;
}

/** The result of an activity, without the time that the worker adds; empty if it is not an object. */
export async function decodeResult(client: Client, payloads: Payloads): Promise<JsonObject> {
  return asObject(readSealedResult(await decodeFirst(client, payloads)).result);
}

/** The message of a failure in a history, or that of its cause if it has one, as for a timeout. */
export interface HistoryFailure {
  readonly message: string;
  readonly type?: string;
  /** The first detail of an application failure; for an activity what its worker gave. */
  readonly details?: unknown;
}

export async function decodeFailure(client: Client, failure: ProtoFailure): Promise<HistoryFailure> {
  const { failureConverter, payloadConverter } = client.options.loadedDataConverter;
  const error = failureConverter.failureToError(await decrypt(client, failure), payloadConverter);
  if (!(error instanceof ApplicationFailure)) return { message: error.message };
  const { message, type, details } = readSealedFailure(error.details) ?? error;
  return { message, type: type || undefined, details: details?.[0] };
}

/** A failure with its payloads decrypted, causes included. */
async function decrypt(client: Client, failure: ProtoFailure): Promise<ProtoFailure> {
  const { encodedAttributes, applicationFailureInfo: application, cause } = failure;
  const details = application?.details?.payloads;
  return {
    ...failure,
    encodedAttributes: encodedAttributes && (await decodePayload(client, encodedAttributes)),
    applicationFailureInfo: details
      ? {
          ...application,
          details: { payloads: await Promise.all(details.map((one) => decodePayload(client, one))) },
        }
      : application,
    cause: cause && (await decrypt(client, cause)),
  };
}

async function decodePayload(client: Client, payload: Payload): Promise<Payload> {
  let payloads = [payload];
  for (const codec of client.options.loadedDataConverter.payloadCodecs.toReversed())
    payloads = await codec.decode(payloads);
  return payloads[0] ?? payload;
}

/** A decoded value as an object; empty for anything else. */
export function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
