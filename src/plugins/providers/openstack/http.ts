import type { Readable } from 'node:stream';
import { z } from 'zod';
import { PluginError, type Calls, type FailureKind } from '../../contract.js';
import { retryAfter, sendRequest, type HttpResponse } from '../../provider-base/http.js';

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** Content of a file in place of the body, opened for each attempt. */
  readonly file?: () => Readable;
}

/** Glance may store a whole file before it answers, in ms. */
const fileSilenceMs = 10 * 60_000;

/** Returns every status to the caller. @throws PluginError Retryable when no answer arrives. */
export function send(call: HttpCall, signal: AbortSignal, calls: Calls): Promise<HttpResponse> {
  const { file, body, url, ...rest } = call;
  // The token goes where Keystone's catalogue says: Keystone has the password.
  const { origin: server, pathname, search } = new URL(url);
  return sendRequest(
    {
      ...rest,
      server,
      path: `${pathname}${search}`,
      headers: { accept: 'application/json', ...call.headers },
      ...(file === undefined ? { body, timeoutMs: 15_000 } : { body: file(), silenceMs: fileSilenceMs }),
    },
    { signal, calls, noAnswer: (why) => `${nameOf(call)} got no answer (${why}). Can this worker reach it?` },
  );
}

/** Reads the body by a schema. @throws PluginError Retryable if it does not fit. */
export function readBody<Schema extends z.ZodType>(
  schema: Schema,
  { json }: Pick<HttpResponse, 'json'>,
  call: HttpCall,
): z.output<Schema> {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new PluginError(
    'Retryable',
    `${nameOf(call)} returned a response that is not from OpenStack: ${z.prettifyError(parsed.error)}`,
  );
}

/**
 * The error of a refusal. Nova answers 403 for quotas and for permissions; only the message tells them apart.
 */
export function refusal(
  answer: Pick<HttpResponse, 'status' | 'headers' | 'json'>,
  call: HttpCall,
): PluginError {
  const message = messageIn(answer.json);
  const kind = kindOf(answer.status, message);
  return new PluginError(
    kind,
    `${nameOf(call)} was refused (${answer.status}): ${message}${remedies[kind] ?? ''}`,
    retryAfter(answer),
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
  Auth: ". Check the account's credentials and the roles in docs/reference/providers/openstack.md.",
  Quota: '. Request a higher quota from the cloud, or use less.',
};

/** Services answer `{<kind>: {message}}` or `{error: {message}}`, Glance `{message}`. */
function messageIn(body: unknown): string {
  const plain = z.looseObject({ message: z.string(), code: z.string() }).safeParse(body);
  if (plain.success)
    return plain.data.message
      .replaceAll(/<br *\/>|\s+/g, ' ')
      .trim()
      .replace(/\.$/, '');
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
