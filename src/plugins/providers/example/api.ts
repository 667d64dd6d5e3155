import { z } from 'zod';
import { PluginError, type Calls, type FailureKind } from '../../contract.js';
import { retryAfter, sendRequest } from '../../provider-base/http.js';

const errorSchema = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

export interface ApiOptions {
  readonly endpoint: string;
  readonly apiKey: string;
  readonly signal: AbortSignal;
  readonly calls: Calls;
}

/** The machine service's HTTP API, with its errors as kinds of PluginError. */
export class ExampleApi {
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  /** Returns undefined for 404 and 410. @throws PluginError, also when the answer does not fit the schema. */
  async call<Schema extends z.ZodType>(
    schema: Schema,
    method: string,
    path: string,
    body?: object,
  ): Promise<z.infer<Schema> | undefined> {
    const { endpoint, apiKey, signal, calls } = this.#options;
    const name = `${method} ${path.replace(/\?.*/, '')}`;
    const answer = await sendRequest(
      { method, server: endpoint, path, body, headers: { authorization: `Bearer ${apiKey}` } },
      // The call may have arrived; every call may be repeated.
      {
        signal,
        calls,
        noAnswer: () => `${name} got no answer from ${endpoint}. Is the machine service running?`,
      },
    );
    const { status, json } = answer;
    if (status === 404 || status === 410) return undefined;
    if (status >= 300) {
      const { code = '', message = 'no reason given' } = errorSchema.safeParse(json).data?.error ?? {};
      throw new PluginError(
        kindOf(status, code),
        `${name} was refused (${status} ${code}): ${message}`,
        retryAfter(answer),
      );
    }
    const parsed = schema.safeParse(json);
    if (parsed.success) return parsed.data;
    throw new PluginError(
      'Invalid',
      `${name} returned a response that this plugin does not understand: ${z.prettifyError(parsed.error)}. Is ${endpoint} a machine service?`,
    );
  }
}

function kindOf(status: number, code: string): FailureKind {
  if (code === 'InsufficientCapacity') return 'Capacity';
  if (code === 'QuotaExceeded') return 'Quota';
  if (status === 401 || status === 403) return 'Auth';
  // The resource is attached to a machine that is being deleted.
  if (code === 'Conflict') return 'NotReady';
  return status === 429 || status >= 500 ? 'Retryable' : 'Invalid';
}
