import { z } from 'zod';
import { anySignal } from '../../../model/signals.js';
import type { Calls } from '../../contract.js';
import { PluginError, type FailureKind } from '../../errors.js';

/** Longest time one call may take, in ms; the descriptor's callDeadlineMs says the same. */
const callDeadlineMs = 10_000;

const pageSize = '200';

const summarySchema = z.object({
  id: z.string(),
  state: z.enum(['pending', 'booting', 'running', 'stopped', 'failed', 'deleting']),
  reason: z.string().optional(),
  key: z.string(),
  tags: z.record(z.string(), z.string()),
  address: z.string(),
  createdAt: z.string(),
});
export type MachineSummary = z.infer<typeof summarySchema>;

export const detailsSchema = summarySchema.extend({
  port: z.number(),
  user: z.string(),
  password: z.string(),
  hostKey: z.string(),
});
export const createdSchema = z.object({ id: z.string(), state: z.string(), user: z.string().optional() });
const limitsSchema = z.object({ machines: z.number(), cores: z.number(), memoryMb: z.number() });
export type Limits = z.infer<typeof limitsSchema>;
export const quotaSchema = z.object({ limits: limitsSchema, use: limitsSchema });
const pageSchema = z.object({ machines: z.array(summarySchema), next: z.string().optional() });
const errorSchema = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

export interface ApiOptions {
  readonly endpoint: string;
  readonly apiKey: string;
  readonly signal: AbortSignal;
  readonly calls: Calls;
}

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: object;
}

interface CallName {
  readonly method: string;
  readonly path: string;
}

/** An answer of the service: success with its body, or no such machine. */
export type ApiAnswer =
  | { readonly found: true; readonly body: unknown }
  | { readonly found: false; readonly gone: boolean };

/**
 * Calls the machine service. Every call may be repeated: CREATE carries a token, and nothing else makes
 * anything.
 */
export class LocalApi {
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  /** @throws PluginError; `found: false` is no error here. */
  async call(call: ApiCall): Promise<ApiAnswer> {
    const response = await this.#send(call);
    const body = await this.#readJson(response, call);
    if (response.ok) return { found: true, body };
    if (response.status === 404 || response.status === 410)
      return { found: false, gone: response.status === 410 };
    throw errorOf(call, response, body);
  }

  /** All machines that a query finds, page by page. */
  async list(query: readonly [string, string][]): Promise<readonly MachineSummary[]> {
    const found: MachineSummary[] = [];
    let page: string | undefined;
    do {
      const parameters = new URLSearchParams([...query, ['limit', pageSize]]);
      if (page !== undefined) parameters.set('page', page);
      const call = { method: 'GET', path: `/v1/machines?${parameters.toString()}` } as const;
      const answer = await this.call(call);
      const { machines, next } = parseAnswer(pageSchema, answer.found ? answer.body : undefined, call);
      found.push(...machines);
      page = next;
    } while (page !== undefined);
    return found;
  }

  /** Sends or fetches a file, without a time limit. */
  async transfer(
    call: Pick<ApiCall, 'path'> & { readonly method: 'GET' | 'PUT' },
    body?: ReadableStream,
  ): Promise<Response> {
    const { endpoint, apiKey, signal, calls } = this.#options;
    await calls.take();
    let response: Response;
    try {
      response = await fetch(new URL(call.path, endpoint), {
        method: call.method,
        redirect: 'error',
        headers: { authorization: `Bearer ${apiKey}` },
        signal,
        ...(body === undefined ? {} : { body, duplex: 'half' as const }),
      });
    } catch (error) {
      throw this.#lost(call, error);
    }
    if (response.ok) return response;
    throw errorOf(call, response, await this.#readJson(response, call));
  }

  async #send(call: ApiCall): Promise<Response> {
    const { endpoint, apiKey, signal, calls } = this.#options;
    await calls.take();
    try {
      return await fetch(new URL(call.path, endpoint), {
        method: call.method,
        redirect: 'error',
        headers: {
          authorization: `Bearer ${apiKey}`,
          ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: call.body === undefined ? null : JSON.stringify(call.body),
        signal: anySignal([signal, AbortSignal.timeout(callDeadlineMs)]),
      });
    } catch (error) {
      throw this.#lost(call, error);
    }
  }

  async #readJson(response: Response, call: CallName): Promise<unknown> {
    let text: string;
    try {
      text = await response.text();
    } catch (error) {
      throw this.#lost(call, error);
    }
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new PluginError(
        'Retryable',
        `${nameOf(call)} of the machine service answered ${response.status} with something that is not JSON. Is ${this.#options.endpoint} its address?`,
        { cause: error },
      );
    }
  }

  /**
   * It is unknown whether the call arrived; repeating it is safe. A cancelled task is no failure of the
   * service.
   */
  #lost(call: CallName, error: unknown): unknown {
    if (this.#options.signal.aborted) return this.#options.signal.reason;
    return new PluginError(
      'Retryable',
      `${nameOf(call)} got no answer from the machine service at ${this.#options.endpoint} (${causeOf(error)}). Is it running?`,
      { cause: error },
    );
  }
}

/** Checks an answer's body. @throws PluginError Invalid when it is not what the API promises. */
export function parseAnswer<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  call: ApiCall,
): z.infer<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new PluginError(
    'Invalid',
    `${nameOf(call)} of the machine service gave an answer that this plugin does not understand: ${z.prettifyError(parsed.error)}. Do their versions fit?`,
    { cause: parsed.error },
  );
}

function errorOf(call: CallName, response: Response, body: unknown): PluginError {
  const parsed = errorSchema.safeParse(body);
  const { code, message } = parsed.success ? parsed.data.error : { code: '', message: 'no reason given' };
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new PluginError(
    kindOf(response.status, code),
    `${nameOf(call)} was refused by the machine service (${response.status} ${code}): ${message}`,
    { ...(Number.isFinite(wait) ? { retryAfterMs: wait * 1_000 } : {}) },
  );
}

function kindOf(status: number, code: string): FailureKind {
  if (code === 'InsufficientCapacity') return 'Capacity';
  if (code === 'QuotaExceeded') return 'Quota';
  if (status === 401 || status === 403) return 'Auth';
  return status === 429 || status >= 500 ? 'Retryable' : 'Invalid';
}

function nameOf(call: CallName): string {
  return `${call.method} ${call.path.replace(/\?.*/, '')}`;
}

/** fetch hides what happened in the cause. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}
