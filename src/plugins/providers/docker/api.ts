import type { Readable } from 'node:stream';
import { z } from 'zod';
import { PluginError, type Calls, type FailureKind } from '../../contract.js';
import { retryAfter, sendRequest, type HttpResponse } from '../../provider-base/http.js';
import type { DockerFields } from './field-types.js';

export type Answer = Pick<HttpResponse, 'status' | 'body' | 'json'> & { readonly message: string };

interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Without the API's version. */
  readonly path: string;
  readonly body?: object;
  /** Sent instead of a body. The daemon may be silent for minutes while it unpacks the file. */
  readonly file?: Readable;
  /** Statuses that are accepted besides 2xx. */
  readonly also?: readonly number[];
}

/** Docker 19.03 and Podman 3 speak it. */
const apiVersion = 'v1.40';

/** Limits for the daemon's silence, in ms: for calls, and while it receives a file. */
const answerMs = 25_000;
const fileMs = 15 * 60_000;

/** Docker's HTTP API, with its errors as kinds of PluginError. */
export class DockerApi {
  readonly #fields: DockerFields;
  readonly #signal: AbortSignal;
  readonly #calls: Calls;

  constructor(fields: DockerFields, signal: AbortSignal, calls: Calls) {
    this.#fields = fields;
    this.#signal = signal;
    this.#calls = calls;
  }

  /** @throws PluginError for every status but 2xx and those in `also`. */
  async call(call: Call): Promise<Answer> {
    const name = nameOf(call);
    const { endpoint } = this.#fields;
    const answer = await this.#send(
      call,
      (why) =>
        `${name} got no answer at ${endpoint} (${why}). Is Docker or Podman running, and may this worker use it?`,
    );
    const { status, headers } = answer;
    const message = errorSchema.safeParse(answer.json).data?.message.trim() ?? 'no reason given';
    const isDocker = headers['api-version'] !== undefined;
    const good = (status >= 200 && status < 300) || call.also?.includes(status) === true;
    // An empty list or a 404 counts as absence, so it must come from the daemon itself.
    if (good && !isDocker)
      throw new PluginError(
        'Retryable',
        `${name} was answered by something other than Docker or Podman (${status}). Is ${endpoint} the address?`,
      );
    if (good) return { ...answer, message };
    throw new PluginError(
      kindOf(status, message, isDocker),
      `${name} was refused (${status}): ${message}${remedyFor(status, message)}`,
      retryAfter(answer),
    );
  }

  /** Reads the answer by a schema. @throws PluginError Invalid if it does not fit. */
  async read<Schema extends z.ZodType>(schema: Schema, call: Call): Promise<z.output<Schema>> {
    return parse(schema, (await this.call(call)).json, nameOf(call));
  }

  /** Undefined for 404. */
  async find<Schema extends z.ZodType>(schema: Schema, path: string): Promise<z.output<Schema> | undefined> {
    const { status, json } = await this.call({ method: 'GET', path, also: [404] });
    return status === 404 ? undefined : parse(schema, json, nameOf({ method: 'GET', path }));
  }

  #send(call: Call, noAnswer: (why: string) => string): Promise<HttpResponse> {
    const { endpoint, ca, cert, key } = this.#fields;
    const isSocket = endpoint.startsWith('unix://');
    const base = isSocket ? 'http://docker' : endpoint.replace(/\/$/, '');
    const { pathname, search } = new URL(`${base}/${apiVersion}${call.path}`);
    const [path] = call.path.split('?');
    // A name such as `a/../b`, `%2e%2e` or `a#b` would reach another object of the daemon.
    if (pathname !== `${new URL(base).pathname.replace(/\/$/, '')}/${apiVersion}${path}`)
      throw new PluginError(
        'Invalid',
        `${nameOf(call)} would leave its path: a name or id in it is not valid`,
      );
    return sendRequest(
      {
        method: call.method,
        server: base,
        path: `${pathname}${search}`,
        headers: call.file === undefined ? {} : { 'content-type': 'application/x-tar' },
        body: call.file ?? call.body,
        socketPath: isSocket ? endpoint.slice('unix://'.length) : undefined,
        tls: { ca, cert, key },
        silenceMs: call.file === undefined ? answerMs : fileMs,
      },
      { signal: this.#signal, calls: this.#calls, noAnswer },
    );
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, json: unknown, name: string): z.output<Schema> {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new PluginError(
    'Invalid',
    `${name} returned a response that this plugin does not understand: ${z.prettifyError(parsed.error)}`,
  );
}

const errorSchema = z.object({ message: z.string() });

/** Podman answers 500 for many permanent errors. */
const wrongs =
  /no such (image|network)|network not found|unable to find network|invalid|unable to parse|unknown flag|not found in \$?PATH|executable file/i;
const full =
  /no space left|cannot allocate memory|no available (ip|ipv4)|range is full|all ports are allocated|address pool/i;

function kindOf(status: number, message: string, isDocker: boolean): FailureKind {
  if (status === 401 || status === 403) return 'Auth';
  if (isDocker && full.test(message)) return 'Capacity';
  if (isDocker && wrongs.test(message)) return 'Invalid';
  // A 404 of another server says nothing about containers.
  return status === 429 || status >= 500 || !isDocker ? 'Retryable' : 'Invalid';
}

function remedyFor(status: number, message: string): string {
  return status === 404 && /image/i.test(message)
    ? ". Pull it on the daemon's host first; it must have an SSH server"
    : '';
}

function nameOf({ method, path }: Pick<Call, 'method' | 'path'>): string {
  return `${method} ${path.replace(/\?.*/, '')}`;
}
