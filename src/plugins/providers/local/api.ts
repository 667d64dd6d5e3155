import { z } from 'zod';
import { PluginError, type Calls } from '../../contract.js';
import { JsonApi } from '../../provider-base/json-api.js';

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
const kinds = { InsufficientCapacity: 'Capacity', QuotaExceeded: 'Quota' } as const;

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
  readonly #api: JsonApi;

  constructor({ endpoint, apiKey, signal, calls }: ApiOptions) {
    const headers = { authorization: `Bearer ${apiKey}` };
    this.#api = new JsonApi({ server: endpoint, headers, timeoutMs: callDeadlineMs, signal, calls, kinds });
  }

  /**
   * Returns `found: false` for 404 and 410. @throws PluginError, also if the body does not fit the schema.
   */
  async call<Schema extends z.ZodType>(schema: Schema, call: ApiCall): Promise<ApiAnswer<z.infer<Schema>>> {
    const { status, body } = await this.#api.call(call.method, call.path, call.body);
    return status < 300
      ? { found: true, body: parse(schema, body, call) }
      : { found: false, gone: status === 410 };
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
    const path = (...page: [string, string][]): string =>
      `/v1/machines?${new URLSearchParams([...query, ['limit', pageSize], ...page]).toString()}`;
    const machines = await this.#api.pages(path(), 'machines', ({ next }) =>
      typeof next === 'string' ? path(['page', next]) : undefined,
    );
    return machines.map((machine) => parse(summarySchema, machine, { method: 'GET', path: path() }));
  }

  transfer: JsonApi['transfer'] = (...words) => this.#api.transfer(...words);
}

/** @throws PluginError Invalid when the body is not what the API promises. */
function parse<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  { method, path }: Pick<ApiCall, 'method' | 'path'>,
): z.infer<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new PluginError(
    'Invalid',
    `${method} ${path.replace(/\?.*/, '')} of the machine service returned a response that this plugin does not understand: ${z.prettifyError(parsed.error)}. Are their versions compatible?`,
    { cause: parsed.error },
  );
}
