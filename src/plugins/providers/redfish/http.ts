import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { z } from 'zod';
import { isUnprotected } from '../../../model/endpoint.js';
import { anySignal } from '../../../model/signals.js';
import { PluginError, type Calls } from '../../contract.js';

export const controllerSchema = z.strictObject({
  /** Such as https://10.0.0.7 */
  url: z.url({ protocol: /^https?$/ }),
  /** The system's id, or its path; the only one there is unless given. */
  system: z.string().optional(),
  user: z.string().optional(),
  password: z.string().optional(),
  /** PEM of the authority that signed the controller's certificate. */
  ca: z.string().optional(),
  /** Takes any certificate, and http:// outside of this machine. */
  insecure: z.boolean().default(false),
});
export type Controller = z.output<typeof controllerSchema>;

export interface RedfishAnswer {
  readonly status: number;
  readonly location: string | undefined;
  readonly etag: string | undefined;
  readonly body: unknown;
}

const callMs = 20_000;
const redirects = 4;
const largestBody = 4 * 1024 * 1024;

/** Calls of one controller. Node's fetch takes no authority of one's own, so this is one layer below it. */
export class RedfishHttp {
  readonly #controller: Controller;
  readonly #signal: AbortSignal;
  readonly #calls: Calls;

  constructor(controller: Controller, signal: AbortSignal, calls: Calls) {
    this.#controller = controller;
    this.#signal = signal;
    this.#calls = calls;
  }

  /**
   * @throws PluginError Retryable (no answer), Auth, Invalid (redirected elsewhere). Other statuses are for
   * the caller.
   */
  async call(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<RedfishAnswer> {
    const base = new URL(this.#controller.url);
    if (!this.#controller.insecure && isUnprotected(this.#controller.url)) {
      throw new PluginError(
        'Invalid',
        `the controller at ${base.origin} would get its password unencrypted; use https://, or set \`insecure: true\` of the controller`,
      );
    }
    let target = new URL(path, base);
    for (let hop = 0; hop <= redirects; hop += 1) {
      const answer = await this.#send(method, target, body, headers);
      if (answer.status === 401 || answer.status === 403)
        throw new PluginError(
          'Auth',
          `${method} ${target.href} was refused (${answer.status}); check user and password of the controller`,
        );
      if (![301, 302, 303, 307, 308].includes(answer.status) || answer.location === undefined) return answer;
      const next = new URL(answer.location, target);
      // The password goes to this host only; name a controller by the host name it uses for itself.
      if (next.origin !== base.origin)
        throw new PluginError(
          'Invalid',
          `${method} ${target.href} leads to ${next.origin}, another server; name that one in heddle.yaml if it is right`,
        );
      target = next;
    }
    throw new PluginError('Retryable', `${method} ${path} of ${base.href} leads in a circle`);
  }

  async #send(
    method: string,
    target: URL,
    body: object | undefined,
    more: Readonly<Record<string, string>>,
  ): Promise<RedfishAnswer> {
    const { user, password, ca, insecure } = this.#controller;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      accept: 'application/json',
      'odata-version': '4.0',
      ...more,
      ...(text === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
      ...(user === undefined
        ? {}
        : { authorization: `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}` }),
    };
    await this.#calls.take();
    const signal = anySignal([this.#signal, AbortSignal.timeout(callMs)]);
    try {
      return await new Promise<RedfishAnswer>((resolve, reject) => {
        const open = target.protocol === 'https:' ? secureRequest : plainRequest;
        const sent = open(
          target,
          { method, headers, signal, agent: false, ca, ...(insecure ? { rejectUnauthorized: false } : {}) },
          (response) => {
            let received = '';
            response
              .setEncoding('utf8')
              .on('data', (chunk: string) => {
                received += chunk;
                if (received.length > largestBody) response.destroy(new Error('the answer does not end'));
              })
              .on('error', reject)
              .on('end', () =>
                resolve({
                  status: response.statusCode ?? 0,
                  location: response.headers.location,
                  etag: response.headers.etag,
                  body: readJson(received),
                }),
              );
          },
        );
        sent.on('error', reject).end(text);
      });
    } catch (error) {
      if (this.#signal.aborted) throw this.#signal.reason;
      const why = error instanceof Error ? error.message : String(error);
      throw new PluginError('Retryable', `${method} ${target.href} got no answer (${why})`, { cause: error });
    }
  }
}

/** A body that is no JSON is ignored; the status still counts. */
function readJson(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
