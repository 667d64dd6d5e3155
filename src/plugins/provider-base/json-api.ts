import type { Readable } from 'node:stream';
import { PluginError, type FailureKind, type JsonObject } from '../contract.js';
import { isJsonObject } from '../../model/json.js';
import { retryAfter, sendRequest, type HttpContext, type HttpRequest, type HttpResponse } from './http.js';

export interface JsonApiOptions extends Pick<HttpContext, 'signal' | 'calls'> {
  /** Its address in heddle.yaml. Links of its responses to other servers are refused. */
  readonly server: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Timeout of one call, in ms. Default: the deadline of the task. */
  readonly timeoutMs?: number;
  /** Kinds of refusals by the error code in their bodies. Default: by their status. */
  readonly kinds?: Readonly<Record<string, FailureKind>>;
}

export interface JsonResponse {
  /** Below 300, 404 or 410. */
  readonly status: number;
  /** Empty if the response has none. */
  readonly body: JsonObject;
}

/**
 * Calls of a REST API whose bodies are JSON objects, within the account's rate limit. Every
 * call may be repeated.
 */
export class JsonApi {
  readonly #options: JsonApiOptions;

  constructor(options: JsonApiOptions) {
    this.#options = options;
  }

  /**
   * One call. Absence (404, 410) is a response like success.
   * @throws PluginError of the kind that the engine knows for any other status, with the
   * `retry-after` of the server; Retryable if no response arrives, or a body that is not JSON:
   * a page of another server is no proof of absence.
   */
  async call(method: string, path: string, body?: object): Promise<JsonResponse> {
    const response = await this.#send(method, path, { body, timeoutMs: this.#options.timeoutMs });
    const { status } = response;
    if (status >= 300 && status !== 404 && status !== 410) throw this.#refusal(method, path, response);
    const read = response.body.length === 0 ? {} : response.json;
    if (isJsonObject(read)) return { status, body: read };
    throw new PluginError(
      'Retryable',
      `the response to ${nameOf(method, path)} (${status}) is not JSON as an API returns it. Is ${this.#options.server} its address?`,
    );
  }

  /** Sends or receives a file, without a time limit. @throws PluginError as `call`, also for absence. */
  async transfer(
    method: string,
    path: string,
    file: { readonly body: Readable } | { readonly receive: (content: Readable) => Promise<void> },
  ): Promise<void> {
    const response = await this.#send(method, path, file);
    if (response.status >= 300) throw this.#refusal(method, path, response);
  }

  /**
   * All entries of a list that comes in pages.
   * @param list Name of the list in each page.
   * @param next The path of the page after this one; undefined: it is the last.
   * @throws PluginError Invalid for a page without the list, and as `call`.
   */
  async pages(
    first: string,
    list: string,
    next: (page: JsonObject) => string | undefined,
  ): Promise<readonly JsonObject[]> {
    const found: JsonObject[] = [];
    for (let path: string | undefined = first; path !== undefined;) {
      const { body }: JsonResponse = await this.call('GET', path);
      const entries = body[list];
      if (!Array.isArray(entries) || !entries.every(isJsonObject))
        throw new PluginError('Invalid', `the response to GET ${path} has no list ${list}`);
      found.push(...entries);
      path = next(body);
    }
    return found;
  }

  #send(
    method: string,
    path: string,
    more: Pick<HttpRequest, 'body' | 'timeoutMs' | 'receive'>,
  ): Promise<HttpResponse> {
    const { server, headers, signal, calls } = this.#options;
    const noAnswer = (why: string): string =>
      `${nameOf(method, path)} got no response from ${server} (${why})`;
    return sendRequest({ ...more, method, server, path, headers }, { signal, calls, noAnswer });
  }

  #refusal(method: string, path: string, response: HttpResponse): PluginError {
    const { status, json } = response;
    const body = isJsonObject(json) ? json : {};
    const code = codeIn(body);
    const { kinds = {} } = this.#options;
    return new PluginError(
      (Object.hasOwn(kinds, code) ? kinds[code] : undefined) ?? kindOfStatus(status),
      `${nameOf(method, path)} was refused (${`${status} ${code}`.trim()}): ${reasonIn(body)}`,
      retryAfter(response),
    );
  }
}

function nameOf(method: string, path: string): string {
  return `${method} ${path.replace(/\?.*/, '')}`;
}

function kindOfStatus(status: number): FailureKind {
  if (status === 401 || status === 403) return 'Auth';
  return status === 429 || status >= 500 ? 'Retryable' : 'Invalid';
}

/** `{"error": {"code": …}}` or `{"code": …}` */
function codeIn({ error, code }: JsonObject): string {
  const found = (isJsonObject(error) ? error['code'] : undefined) ?? code;
  return typeof found === 'string' ? found : '';
}

/** `{"error": {"message": …}}`, `{"message": …}` or `{"error": …}` */
function reasonIn(body: JsonObject): string {
  const { error = {}, message } = body;
  const found = (isJsonObject(error) ? error['message'] : error) ?? message;
  return typeof found === 'string' ? found : 'no reason given';
}

/** A text or number of a response, as text. @throws PluginError Invalid if it is missing. */
export function textIn(body: JsonObject, key: string): string {
  const value = body[key];
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new PluginError('Invalid', `the API returned a response without ${key}. Is its address right?`);
}
