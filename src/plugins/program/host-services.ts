import type { Calls, Claims, RunOutcome, Shell } from '../contract.js';
import { failureKinds, PluginError } from '../errors.js';
import { limits, type ErrorMessage, type ReplyMessage, type RequestName } from './protocol.js';

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The engine's services in a plugin host: each method is a request to the worker. */
export class HostServices {
  readonly #send: (message: object) => void;
  readonly #waiting = new Map<number, Waiting>();
  readonly #queue: (() => void)[] = [];
  #lastId = 0;

  constructor(send: (message: object) => void) {
    this.#send = send;
  }

  readonly shell: Shell = {
    run: (script) => this.#ask<RunOutcome>('run', script),
    exec: (command, options) => this.#ask<RunOutcome>('exec', { command, ...options }),
    putFile: (path, content, options) => {
      const body =
        typeof content === 'string' ? { content } : { base64: Buffer.from(content).toString('base64') };
      return this.#ask('putFile', { path, ...body, ...options });
    },
  };

  readonly claims: Claims = {
    take: async (key, candidates) =>
      (await this.#ask<string | null>('claims.take', { key, candidates })) ?? undefined,
    release: (key) => this.#ask('claims.release', { key }),
    held: () => this.#ask('claims.held', {}),
  };

  readonly calls: Calls = { take: () => this.#ask('calls.take', {}) };

  /** Passes a reply of the worker to the request that waits for it. */
  settle(reply: ReplyMessage): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if ('error' in reply) waiting?.reject(revive(reply.error));
    else waiting?.resolve(reply.result);
    this.#queue.shift()?.();
  }

  /** A class may make any number of requests at a time; more than the worker takes wait here. */
  async #ask<Result>(request: RequestName, fields: object): Promise<Result> {
    if (this.#waiting.size >= limits.requests)
      await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise<Result>((resolve, reject) => {
      this.#waiting.set(id, { resolve: (result) => resolve(result as Result), reject });
      this.#send({ ...fields, id, request });
    });
  }
}

function revive({ kind, message, ...known }: ErrorMessage): Error {
  const failure = failureKinds.find((candidate) => candidate === kind);
  return failure === undefined ? new Error(message) : new PluginError(failure, message, known);
}
