import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { anySignal } from '../model/signals.js';
import type { Descriptor } from '../schema/descriptor.js';
import type { PluginContext } from './contract.js';
import { isPluginError, PluginError, wrapError } from './errors.js';

/** The properties of a plugin that its clients depend on. */
export interface ClientPlan {
  readonly plugin: string;
  readonly type: 'provider' | 'automator';
  /** Fields that identify an account; all fields if the plugin declares none. */
  readonly adminFields?: readonly string[];
}

export function clientPlan({ name, type, fields }: Descriptor): ClientPlan {
  return { plugin: name, type, adminFields: fields === undefined ? undefined : Object.keys(fields.admin) };
}

/** Timeout for starting a client, in ms. */
const startMs = 60_000;

/** Timeout for stopping a client, in ms; shorter than a worker's shutdown. */
export const stopMs = 5_000;

/** The fault of a class's static `start` and `stop`; undefined if there is none. */
export function clientFault(Class: object, name: string): string | undefined {
  return staticOf(Class, 'stop') !== undefined && staticOf(Class, 'start') === undefined
    ? `class ${name} has a static stop but no static start; add start or remove stop`
    : undefined;
}

type ClientContext = Pick<PluginContext, 'task' | 'fields' | 'log'>;

/** The clients of one plugin in this process, one per account, started on first use. */
export class Clients {
  /** Whether there may be clients to stop. */
  readonly drains: boolean;
  readonly #plan: ClientPlan;
  readonly #Class: object;
  readonly #say: (text: string) => void;
  readonly #opened = new Map<string, { readonly name: string; readonly client: Promise<unknown> }>();
  readonly #closed = new AbortController();

  constructor(plan: ClientPlan, Class: object, say: (text: string) => void) {
    this.#plan = plan;
    this.#Class = Class;
    this.#say = say;
    this.drains = staticOf(Class, 'start') !== undefined;
  }

  /** The context's `client`; undefined if the class has no static start. */
  openerOf(context: ClientContext): PluginContext['client'] | undefined {
    return this.drains ? () => this.#open(context) : undefined;
  }

  /** Stops all clients; waits at most `stopMs`. */
  async close(): Promise<void> {
    this.#closed.abort(new PluginError('Retryable', 'this process is shutting down'));
    const opened = [...this.#opened.values()];
    this.#opened.clear();
    await Promise.all(opened.map(({ name, client }) => this.#stop(name, client)));
  }

  #open({ task, fields: all, log }: ClientContext): Promise<unknown> {
    const { plugin, type, adminFields } = this.#plan;
    const name = type === 'provider' ? task.provider.name : plugin;
    const isOwn = ([field]: readonly [string, unknown]): boolean => adminFields?.includes(field) ?? true;
    const fields = Object.fromEntries(Object.entries(all).filter(isOwn));
    // Changed fields, such as a new secret, need a new client.
    const key = createHash('sha256')
      .update(JSON.stringify([name, fields]))
      .digest('hex');
    const known = this.#opened.get(key);
    if (known !== undefined) return known.client;
    const client = this.#start(name, fields, log);
    this.#opened.set(key, { name, client });
    // The next attempt tries again.
    client.catch(() => this.#opened.delete(key));
    return client;
  }

  async #start(name: string, fields: PluginContext['fields'], log: PluginContext['log']): Promise<unknown> {
    const signal = anySignal([this.#closed.signal, AbortSignal.timeout(startMs)]);
    try {
      signal.throwIfAborted();
      const settled = new AbortController();
      const aborted = once(signal, 'abort', { signal: settled.signal }).then(() => signal.throwIfAborted());
      aborted.catch(() => undefined);
      const started = this.#call('start', { name, fields, log, signal });
      return await Promise.race([started, aborted]).finally(() => settled.abort());
    } catch (cause) {
      const words = `plugin ${this.#plan.plugin} could not start its client for ${name}: ${textOf(cause)}`;
      if (!isPluginError(cause)) throw new PluginError('Retryable', words, { cause });
      throw wrapError(cause, words);
    }
  }

  async #stop(name: string, client: Promise<unknown>): Promise<void> {
    const ofClient = `its client for ${name}`;
    const late = new AbortController();
    try {
      const isStarted = await client.then(
        () => true,
        () => false,
      );
      if (!isStarted || staticOf(this.#Class, 'stop') === undefined) return;
      const stopped = this.#call('stop', await client).then(() => true);
      const isStopped = await Promise.race([stopped, pause(stopMs, false, { signal: late.signal })]);
      if (!isStopped)
        this.#say(`plugin ${this.#plan.plugin} did not stop ${ofClient} within ${stopMs / 1_000} s`);
    } catch (error) {
      this.#say(`plugin ${this.#plan.plugin} could not stop ${ofClient}: ${textOf(error)}`);
    } finally {
      late.abort();
    }
  }

  async #call(name: 'start' | 'stop', argument: unknown): Promise<unknown> {
    return staticOf(this.#Class, name)?.call(this.#Class, argument);
  }
}

function staticOf(Class: object, name: 'start' | 'stop'): ((argument: unknown) => unknown) | undefined {
  const method: unknown = Reflect.get(Class, name);
  return typeof method === 'function' ? (method as (argument: unknown) => unknown) : undefined;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
