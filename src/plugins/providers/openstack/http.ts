import { z } from 'zod';
import { anySignal } from '../../../model/signals.js';
import { PluginError, type FailureKind } from '../../contract.js';

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if it is no JSON. */
  readonly body: unknown;
}

/** Longest wait for one answer, in ms. */
const answerMs = 15_000;

/**
 * Sends a call. Whatever the status says is for the caller.
 * @throws PluginError Retryable when no answer came.
 */
export async function send(call: HttpCall, signal: AbortSignal): Promise<HttpAnswer> {
  try {
    const response = await fetch(call.url, {
      method: call.method,
      signal: anySignal([signal, AbortSignal.timeout(answerMs)]),
      redirect: 'error',
      headers: {
        accept: 'application/json',
        connection: 'close',
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...call.headers,
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    });
    return { status: response.status, headers: response.headers, body: parseJson(await response.text()) };
  } catch (error) {
    signal.throwIfAborted();
    throw new PluginError(
      'Retryable',
      `${nameOf(call)} got no answer (${causeOf(error)}). Can this worker reach it?`,
      { cause: error },
    );
  }
}

/**
 * The answer's body in this shape.
 * @throws PluginError Retryable if it does not match.
 */
export function readBody<Schema extends z.ZodType>(
  schema: Schema,
  { body }: HttpAnswer,
  call: HttpCall,
): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new PluginError(
    'Retryable',
    `${nameOf(call)} gave an answer that is none of OpenStack's: ${z.prettifyError(parsed.error)}`,
  );
}

/**
 * Classifies a refusal. Nova answers 403 for an exceeded quota as well as for a missing permission; only the
 * message distinguishes them.
 */
export function refusal({ status, headers, body }: HttpAnswer, call: HttpCall): PluginError {
  const message = messageIn(body);
  const kind = kindOf(status, message);
  const wait = Number(headers.get('retry-after') ?? Number.NaN);
  return new PluginError(
    kind,
    `${nameOf(call)} was refused (${status}): ${message}${remedies[kind] ?? ''}`,
    Number.isFinite(wait) ? { retryAfterMs: wait * 1_000 } : {},
  );
}

const quota =
  /quota (for [\w, ]+)?(exceeded|reached)|quota exceeded|exceeds? (available )?quota|maximum number of/i;
const full =
  /no valid host|not enough (hosts|resources|capacity)|no more ip addresses|no available (ip|floating)|insufficient/i;

function kindOf(status: number, message: string): FailureKind {
  if ((status === 403 || status === 413 || status === 409) && quota.test(message)) return 'Quota';
  if (status !== 401 && full.test(message)) return 'Capacity';
  if (status === 401 || status === 403) return 'Auth';
  if (status === 413 || status === 429 || status >= 500) return 'Retryable';
  return 'Invalid';
}

const remedies: Readonly<Partial<Record<FailureKind, string>>> = {
  Auth: ". Look at the account's credentials and at the roles that docs/providers/openstack.md lists.",
  Quota: '. Ask the cloud for a higher quota, or use less.',
};

/** Services put it into `{<kind>: {message}}`, or into `{error: {message}}`. */
function messageIn(body: unknown): string {
  const inner = z.record(z.string(), z.looseObject({ message: z.string() })).safeParse(body);
  return (
    (inner.success ? Object.values(inner.data)[0]?.message : undefined)?.trim().replace(/\.$/, '') ??
    'no reason given'
  );
}

function nameOf({ method, url }: HttpCall): string {
  const { host, pathname } = new URL(url);
  return `${method} ${pathname} of ${host}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** fetch hides what happened in the cause. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}
