import { pipeline } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import { request as requestPlain, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as requestTls } from 'node:https';
import { z } from 'zod';
import { PluginError, type Calls, type FailureKind } from '../../contract.js';
import type { DockerFields } from './fields.js';

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
  readonly message: string;
}

interface Call {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Without the API's version. */
  readonly path: string;
  readonly body?: object;
  /** In place of a body: a file. The daemon may be silent for long while it unpacks it. */
  readonly file?: Readable;
  /** Answers that are no failure besides 2xx. */
  readonly also?: readonly number[];
}

/** Docker 19.03 and Podman 3 speak it. */
const apiVersion = 'v1.40';

/** Longest silence of the daemon, in ms; with a file that it takes in. */
const answerMs = 25_000;
const fileMs = 15 * 60_000;

/** The most of an answer that is read, in bytes. */
const mostBytes = 64 * 1024 * 1024;

/** Docker's HTTP API, with the failures of each call in the engine's words. */
export class DockerApi {
  readonly #fields: DockerFields;
  readonly #signal: AbortSignal;
  readonly #calls: Calls;

  constructor(fields: DockerFields, signal: AbortSignal, calls: Calls) {
    this.#fields = fields;
    this.#signal = signal;
    this.#calls = calls;
  }

  /** @throws PluginError for every answer but 2xx and those that are named. */
  async call(call: Call): Promise<Answer> {
    const name = nameOf(call);
    const { endpoint } = this.#fields;
    await this.#calls.take();
    let answer: Answer & { readonly headers: IncomingMessage['headers'] };
    try {
      answer = await send(this.#fields, call, this.#signal);
    } catch (error) {
      this.#signal.throwIfAborted();
      throw new PluginError(
        'Retryable',
        `${name} got no answer at ${endpoint} (${error instanceof Error ? error.message : String(error)}). Does Docker or Podman run, and may this worker use it?`,
        { cause: error },
      );
    }
    const { status, headers, message } = answer;
    const isDocker = headers['api-version'] !== undefined;
    const good = (status >= 200 && status < 300) || call.also?.includes(status) === true;
    // An empty list, and even 404, would be believed: so it must be the daemon that says it.
    if (good && !isDocker)
      throw new PluginError(
        'Retryable',
        `${name} was answered by something else than Docker or Podman (${status}). Is ${endpoint} the address?`,
      );
    if (good) return answer;
    const wait = Number(headers['retry-after'] ?? Number.NaN);
    throw new PluginError(
      kindOf(status, message, isDocker),
      `${name} was refused (${status}): ${message}${remedyFor(status, message)}`,
      Number.isFinite(wait) ? { retryAfterMs: wait * 1_000 } : {},
    );
  }

  /**
   * The answer in this shape.
   * @throws PluginError if it does not match.
   */
  async read<Schema extends z.ZodType>(schema: Schema, call: Call): Promise<z.output<Schema>> {
    return parse(schema, (await this.call(call)).body, nameOf(call));
  }

  /** Undefined for 404. */
  async find<Schema extends z.ZodType>(schema: Schema, path: string): Promise<z.output<Schema> | undefined> {
    const { status, body } = await this.call({ method: 'GET', path, also: [404] });
    return status === 404 ? undefined : parse(schema, body, nameOf({ method: 'GET', path }));
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, body: Buffer, name: string): z.output<Schema> {
  const parsed = schema.safeParse(json(body));
  if (parsed.success) return parsed.data;
  throw new PluginError(
    'Invalid',
    `${name} gave an answer that this plugin does not understand: ${z.prettifyError(parsed.error)}`,
  );
}

function json(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function send(
  fields: DockerFields,
  call: Call,
  signal: AbortSignal,
): Promise<Answer & { readonly headers: IncomingMessage['headers'] }> {
  const silenceMs = call.file === undefined ? answerMs : fileMs;
  const content = call.body === undefined ? undefined : JSON.stringify(call.body);
  const isSocket = fields.endpoint.startsWith('unix://');
  const url = new URL(isSocket ? 'http://docker' : fields.endpoint);
  const { ca, cert, key } = fields;
  const options: RequestOptions = {
    method: call.method,
    path: `${url.pathname.replace(/\/$/, '')}/${apiVersion}${call.path}`,
    signal,
    agent: false,
    timeout: silenceMs,
    headers: {
      host: url.host,
      ...(content === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }),
      ...(call.file === undefined ? {} : { 'content-type': 'application/x-tar' }),
    },
    ...(isSocket
      ? { socketPath: fields.endpoint.slice('unix://'.length) }
      : { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port }),
  };
  return new Promise((resolve, reject) => {
    const tls = { ca, cert, key };
    const outgoing = url.protocol === 'https:' ? requestTls({ ...options, ...tls }) : requestPlain(options);
    outgoing.on('error', reject);
    outgoing.on('timeout', () => outgoing.destroy(new Error(`silent for ${silenceMs / 1_000} s`)));
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > mostBytes) outgoing.destroy(new Error('the answer has no end'));
        else chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('aborted', () => reject(new Error('the connection was cut')));
      response.on('end', () => {
        const body = Buffer.concat(chunks);
        resolve({
          status: response.statusCode ?? 502,
          body,
          message: messageIn(body),
          headers: response.headers,
        });
      });
    });
    if (call.file === undefined) outgoing.end(content);
    // Where the daemon refuses before it has read all, its answer counts, and not the pipe that it broke.
    else pipeline(call.file, outgoing).catch(reject);
  });
}

const errorSchema = z.object({ message: z.string() });

function messageIn(body: Buffer): string {
  return errorSchema.safeParse(json(body)).data?.message.trim() ?? 'no reason given';
}

/** Podman says 500 of much that no repetition mends. */
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
