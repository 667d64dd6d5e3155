import type { Readable } from 'node:stream';
import { z } from 'zod';
import { PluginError, type Calls, type FailureKind } from '../../contract.js';
import { retryAfter, sendRequest, type HttpResponse } from '../../provider-base/http.js';

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
export const flavorsSchema = z.object({
  flavors: z.record(z.string(), z.object({ cores: z.number(), memoryMb: z.number() })),
});
export const imagesSchema = z.object({ images: z.array(z.string()) });
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

/** An answer of the service: success with its body, or that there is no such machine. */
export type ApiAnswer<Body> =
  | { readonly found: true; readonly body: Body }
  | { readonly found: false; readonly gone: boolean };

/** Client of the machine service. Every call may be repeated: CREATE sends a token. */
export class LocalApi {
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  /** Returns `found: false` for 404 and 410. @throws PluginError, also if the body does not fit the schema. */
  async call<Schema extends z.ZodType>(schema: Schema, call: ApiCall): Promise<ApiAnswer<z.infer<Schema>>> {
    const answer = await this.#send(call, { body: call.body, timeoutMs: callDeadlineMs });
    if (answer.json === undefined) throw this.#notJson(answer, call);
    if (answer.status < 300) return { found: true, body: parse(schema, answer.json, call) };
    if (answer.status === 404 || answer.status === 410) return { found: false, gone: answer.status === 410 };
    throw this.#refusal(answer, call);
  }

  /** For calls that never answer with absence. */
  async read<Schema extends z.ZodType>(
    schema: Schema,
    path: string,
    body?: object,
  ): Promise<z.infer<Schema>> {
    const call: ApiCall = { method: body === undefined ? 'GET' : 'POST', path, body };
    const answer = await this.call(schema, call);
    return answer.found ? answer.body : parse(schema, undefined, call);
  }

  /** All machines that a query finds, page by page. */
  async list(query: readonly [string, string][]): Promise<readonly MachineSummary[]> {
    const found: MachineSummary[] = [];
    for (let page: [string, string][] = []; ;) {
      const parameters = new URLSearchParams([...query, ['limit', pageSize], ...page]);
      const { machines, next } = await this.read(pageSchema, `/v1/machines?${parameters.toString()}`);
      found.push(...machines);
      if (next === undefined) return found;
      page = [['page', next]];
    }
  }

  /** Sends a file, or receives one, without a time limit. */
  async transfer(
    call: { readonly method: 'GET' | 'PUT'; readonly path: string },
    file: { readonly body: Readable } | { readonly receive: (content: Readable) => Promise<void> },
  ): Promise<void> {
    const answer = await this.#send(call, file);
    if (answer.status >= 300) throw this.#refusal(answer, call);
  }

  #send(
    { method, path }: CallName,
    more: {
      readonly body?: object;
      readonly timeoutMs?: number;
      readonly receive?: (content: Readable) => Promise<void>;
    },
  ): Promise<HttpResponse> {
    const { endpoint, apiKey, signal, calls } = this.#options;
    const name = nameOf({ method, path });
    return sendRequest(
      { ...more, method, server: endpoint, path, headers: { authorization: `Bearer ${apiKey}` } },
      {
        signal,
        calls,
        // The call may have arrived; repeating it is safe.
        noAnswer: (why) =>
          `${name} got no answer from the machine service at ${endpoint} (${why}). Is it running?`,
      },
    );
  }

  #refusal(answer: HttpResponse, call: CallName): PluginError {
    if (answer.json === undefined) return this.#notJson(answer, call);
    const { code = '', message = 'no reason given' } = errorSchema.safeParse(answer.json).data?.error ?? {};
    return new PluginError(
      kindOf(answer.status, code),
      `${nameOf(call)} was refused by the machine service (${answer.status} ${code}): ${message}`,
      retryAfter(answer),
    );
  }

  #notJson({ status }: HttpResponse, call: CallName): PluginError {
    return new PluginError(
      'Retryable',
      `${nameOf(call)} of the machine service answered ${status} with something that is not JSON. Is ${this.#options.endpoint} its address?`,
    );
  }
}

type CallName = Pick<ApiCall, 'path'> & { readonly method: string };

/** @throws PluginError Invalid when the body is not what the API promises. */
function parse<Schema extends z.ZodType>(schema: Schema, body: unknown, call: CallName): z.infer<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new PluginError(
    'Invalid',
    `${nameOf(call)} of the machine service returned a response that this plugin does not understand: ${z.prettifyError(parsed.error)}. Are their versions compatible?`,
    { cause: parsed.error },
  );
}

function kindOf(status: number, code: string): FailureKind {
  if (code === 'InsufficientCapacity') return 'Capacity';
  if (code === 'QuotaExceeded') return 'Quota';
  if (status === 401 || status === 403) return 'Auth';
  return status === 429 || status >= 500 ? 'Retryable' : 'Invalid';
}

function nameOf({ method, path }: CallName): string {
  return `${method} ${path.replace(/\?.*/, '')}`;
}
