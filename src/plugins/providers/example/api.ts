import { z } from 'zod';
import { PluginError, type Calls } from '../../contract.js';
import { JsonApi } from '../../provider-base/json-api.js';

/** `Conflict`: the resource is attached to a machine that is being deleted. */
const kinds = { InsufficientCapacity: 'Capacity', QuotaExceeded: 'Quota', Conflict: 'NotReady' } as const;

export interface ApiOptions {
  readonly endpoint: string;
  readonly apiKey: string;
  readonly signal: AbortSignal;
  readonly calls: Calls;
}

/** The machine service's HTTP API, with its errors as kinds of PluginError. */
export class ExampleApi {
  readonly #endpoint: string;
  readonly #api: JsonApi;

  constructor({ endpoint, apiKey, signal, calls }: ApiOptions) {
    this.#endpoint = endpoint;
    const headers = { authorization: `Bearer ${apiKey}` };
    this.#api = new JsonApi({ server: endpoint, headers, signal, calls, kinds });
  }

  /** Returns undefined for 404 and 410. @throws PluginError, also when the answer does not fit the schema. */
  async call<Schema extends z.ZodType>(
    schema: Schema,
    method: string,
    path: string,
    body?: object,
  ): Promise<z.infer<Schema> | undefined> {
    const answer = await this.#api.call(method, path, body);
    if (answer.status >= 300) return undefined;
    const parsed = schema.safeParse(answer.body);
    if (parsed.success) return parsed.data;
    throw new PluginError(
      'Invalid',
      `${method} ${path} returned a response that this plugin does not understand: ${z.prettifyError(parsed.error)}. Is ${this.#endpoint} a machine service?`,
    );
  }
}
