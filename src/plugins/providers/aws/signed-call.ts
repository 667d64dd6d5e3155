import { AwsClient } from 'aws4fetch';
import { anySignal } from '../../../model/signals.js';
import { failureOf } from './failures.js';
import type { AwsFields } from './field-types.js';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface SignedCall {
  /** As it is signed, which is also the first word of the service's address. */
  readonly service: 'ebs' | 'servicequotas';
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** For messages. */
  readonly what: string;
}

/** Longest wait for one answer, in ms. */
const answerMs = 60_000;

/** A call of a small JSON API, for which users need not install another package of the SDK. */
export async function callSigned(
  fields: Pick<AwsFields, 'region' | 'endpoint'>,
  credentials: Credentials,
  { service, method, path, headers, body, what }: SignedCall,
  signal: AbortSignal,
): Promise<unknown> {
  const client = new AwsClient({ ...credentials, service, region: fields.region, retries: 0 });
  try {
    const response = await client.fetch(`${addressOf(service, fields)}${path}`, {
      method,
      headers: { ...headers },
      body,
      redirect: 'manual',
      signal: anySignal([signal, AbortSignal.timeout(answerMs)]),
    });
    const text = await response.text();
    if (response.ok) return text === '' ? {} : (JSON.parse(text) as unknown);
    throw refusalOf(response, text);
  } catch (error) {
    signal.throwIfAborted();
    throw failureOf(what, error);
  }
}

/** An endpoint that is not Amazon's, such as an emulator, has all services. */
function addressOf(
  service: SignedCall['service'],
  { region, endpoint }: Pick<AwsFields, 'region' | 'endpoint'>,
): string {
  const host = endpoint === undefined ? 'amazonaws.com' : new URL(endpoint).hostname;
  if (endpoint !== undefined && !/(^|\.)amazonaws\.com(\.cn)?$/.test(host))
    return endpoint.replace(/\/+$/, '');
  return `https://${service}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
}

/** As the SDK throws refusals. */
function refusalOf(response: Response, text: string): Error {
  const { __type: type, message, Message } = readBody(text);
  const code = (response.headers.get('x-amzn-errortype') ?? type ?? 'UnknownError').split(':')[0] ?? '';
  return Object.assign(new Error(message ?? Message ?? text.slice(0, 300)), {
    name: code.split('#').at(-1) ?? code,
    $metadata: { httpStatusCode: response.status },
    $response: { headers: Object.fromEntries(response.headers) },
  });
}

function readBody(text: string): Readonly<Partial<Record<string, string>>> {
  try {
    return JSON.parse(text) as Record<string, string>;
  } catch {
    return {};
  }
}
