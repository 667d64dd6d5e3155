import { z } from 'zod';
import { PluginError, type Calls, type FailureKind } from '../../contract.js';

const errorSchema = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

export interface ApiOptions {
  readonly endpoint: string;
  readonly apiKey: string;
  readonly signal: AbortSignal;
  readonly calls: Calls;
}

/** The machine service's HTTP API, with the failures of each call in the engine's words. */
export class ExampleApi {
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  /** Calls, and takes the answer only in this shape. 404 and 410 give undefined. @throws PluginError */
  async call<Schema extends z.ZodType>(
    schema: Schema,
    method: string,
    path: string,
    body?: object,
  ): Promise<z.infer<Schema> | undefined> {
    const name = `${method} ${path.replace(/\?.*/, '')}`;
    const { status, wait, content } = await this.#send(name, method, path, body);
    if (status === 404 || status === 410) return undefined;
    const read = parseJson(content);
    if (status >= 300) {
      const { code, message } = errorSchema.safeParse(read).data?.error ?? {
        code: '',
        message: 'no reason given',
      };
      throw new PluginError(
        kindOf(status, code),
        `${name} was refused (${status} ${code}): ${message}`,
        Number.isFinite(wait) ? { retryAfterMs: wait * 1_000 } : {},
      );
    }
    const parsed = schema.safeParse(read);
    if (parsed.success) return parsed.data;
    throw new PluginError(
      'Invalid',
      `${name} gave an answer that this plugin does not understand: ${z.prettifyError(parsed.error)}. Is ${this.#options.endpoint} a machine service?`,
    );
  }

  async #send(
    name: string,
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly wait: number; readonly content: string }> {
    const { endpoint, apiKey, signal, calls } = this.#options;
    await calls.take();
    try {
      const response = await fetch(new URL(path, endpoint), {
        method,
        signal,
        redirect: 'error',
        headers: { authorization: `Bearer ${apiKey}` },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      return {
        status: response.status,
        wait: Number(response.headers.get('retry-after') ?? Number.NaN),
        content: await response.text(),
      };
    } catch (error) {
      signal.throwIfAborted();
      // Whether it arrived is not known; every call may be repeated.
      throw new PluginError(
        'Retryable',
        `${name} got no answer from ${endpoint}. Does the machine service run?`,
        { cause: error },
      );
    }
  }
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

function kindOf(status: number, code: string): FailureKind {
  if (code === 'InsufficientCapacity') return 'Capacity';
  if (code === 'QuotaExceeded') return 'Quota';
  if (status === 401 || status === 403) return 'Auth';
  // Attached to a machine that is going: not for long.
  if (code === 'Conflict') return 'NotReady';
  return status === 429 || status >= 500 ? 'Retryable' : 'Invalid';
}
