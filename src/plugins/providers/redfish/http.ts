import { z } from 'zod';
import { isUnprotected } from '../../../model/endpoint.js';
import { unsafeText } from '../../../model/safe-text.js';
import { PluginError, type Calls } from '../../contract.js';
import { ControllerLogin } from '../../bare-metal/index.js';
import { hostKeys } from '../../provider-base/fields.js';
import { sendRequest, type HttpResponse } from '../../provider-base/http.js';

/** Sent to the controller as one line. */
export const consoleCommand = z
  .string()
  .refine((line) => unsafeText(line, { blanks: true }) === undefined, {
    error: 'must be one line without quotes that does not begin with -',
  });

export const controllerSchema = z
  .strictObject({
    /** Such as https://10.0.0.7 */
    url: z.url({ protocol: /^https?$/ }),
    /** The system's id or path. Default: the only system. */
    system: z.string().optional(),
    user: z.string().optional(),
    password: z.string().optional(),
    /** PEM of the authority that signed the controller's certificate. */
    ca: z.string().optional(),
    /** Accepts any certificate, and http:// to other hosts. */
    insecure: z.boolean().default(false),
    /** Of its SSH server, for consoles; otherwise that of the user's known_hosts. */
    hostKey: hostKeys.optional(),
    /** Opens the console in the shell of a controller that does not name the command, such as `vsp`. */
    consoleCommand: consoleCommand.optional(),
  })
  .refine(({ url, insecure }) => insecure || !isUnprotected(url), {
    path: ['url'],
    error: 'is an unencrypted address of another machine: use https://, or set `insecure: true`',
  });
export type Controller = z.output<typeof controllerSchema>;

/** HTTP client of one controller. */
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
   * @param path also a link in an answer of the controller.
   * @throws PluginError Retryable (no answer), Auth, Invalid (a link elsewhere). Other statuses are returned.
   */
  async call(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<HttpResponse> {
    const base = new URL(this.#controller.url);
    if (!this.#controller.insecure && isUnprotected(this.#controller.url)) {
      throw new PluginError(
        'Invalid',
        `the controller at ${base.origin} would receive its password unencrypted; use https://, or set \`insecure: true\` of the controller`,
      );
    }
    const { user, password } = this.#controller;
    const login = new ControllerLogin(base.origin, user, password);
    login.check();
    const answer = await this.#send(method, path, body, headers);
    if (answer.status === 401 || answer.status === 403)
      throw login.refused(
        `${method} ${path} of ${base.origin} was refused (${answer.status}); check user and password of the controller`,
      );
    login.accepted();
    return answer;
  }

  #send(
    method: string,
    path: string,
    body: object | undefined,
    more: Readonly<Record<string, string>>,
  ): Promise<HttpResponse> {
    const { url: server, user, password, ca, insecure } = this.#controller;
    const headers = {
      accept: 'application/json',
      'odata-version': '4.0',
      ...more,
      ...(user === undefined
        ? {}
        : { authorization: `Basic ${Buffer.from(`${user}:${password ?? ''}`).toString('base64')}` }),
    };
    return sendRequest(
      {
        method,
        server,
        path,
        headers,
        body,
        tls: { ca, rejectUnauthorized: !insecure },
        timeoutMs: 20_000,
        maxBytes: 4 * 1024 * 1024,
        followsRedirects: true,
      },
      {
        signal: this.#signal,
        calls: this.#calls,
        noAnswer: (why) => `${method} ${path} of ${server} got no answer (${why})`,
      },
    );
  }
}
