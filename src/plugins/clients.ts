import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { anySignal } from '../model/signals.js';
import type { Descriptor } from '../schema/descriptor.js';
import type { ClientAccount, PluginContext } from './contract.js';
import { isPluginError, PluginError } from './errors.js';

/** Whose clients these are. */
export interface ClientPlan {
  readonly plugin: string;
  readonly type: 'provider' | 'automator';
  /** Fields that make an account; all of them where the plugin declares none. */
  readonly adminFields?: readonly string[];
}

export function clientPlan({ name, type, fields }: Descriptor): ClientPlan {
  return { plugin: name, type, adminFields: fields === undefined ? undefined : Object.keys(fields.admin) };
}

/** Longest time that a client takes to start, in ms. */
const startMs = 60_000;

/** How long a client has to stop, in ms: shorter than any worker is given to end. */
export const stopMs = 5_000;

type Start = (account: ClientAccount) => unknown;
type Stop = (client: unknown) => unknown;

/** What is wrong with the static `start` and `stop` of a class; undefined where nothing is. */
export function clientFault(Class: object, name: string): string | undefined {
  return staticOf(Class, 'stop') !== undefined && staticOf(Class, 'start') === undefined
    ? `class ${name} has a static stop and no static start: nothing would ever be stopped`
    : undefined;
}

/**
 * Clients of one plugin in this process, one for each account: started when they are wanted first, stopped
 * when the process is done.
 */
export class Clients {
  /** Whether there may be anything to stop. */
  readonly drains: boolean;
  readonly #plan: ClientPlan;
  readonly #Class: object;
  readonly #say: (text: string) => void;
  readonly #opened = new Map<string, { readonly name: string; readonly client: Promise<unknown> }>();
  readonly #over = new AbortController();

  constructor(plan: ClientPlan, Class: object, say: (text: string) => void) {
    this.#plan = plan;
    this.#Class = Class;
    this.#say = say;
    this.drains = staticOf(Class, 'start') !== undefined;
  }

  /** For the context of an attempt; undefined where the class has no start. */
  openerOf(context: Pick<PluginContext, 'task' | 'fields' | 'log'>): PluginContext['client'] | undefined {
    return this.drains ? () => this.#open(context) : undefined;
  }

  /** Stops all, and waits for it so long as a worker can. */
  async close(): Promise<void> {
    this.#over.abort(new PluginError('Retryable', 'this process ends'));
    const opened = [...this.#opened.values()];
    this.#opened.clear();
    await Promise.all(opened.map(({ name, client }) => this.#stop(name, client)));
  }

  #open({ task, fields, log }: Pick<PluginContext, 'task' | 'fields' | 'log'>): Promise<unknown> {
    const { plugin, type, adminFields } = this.#plan;
    const name = type === 'provider' ? task.provider.name : plugin;
    const own =
      adminFields === undefined
        ? fields
        : Object.fromEntries(Object.entries(fields).filter(([field]) => adminFields.includes(field)));
    // Other fields, such as a new secret, make another client.
    const key = createHash('sha256')
      .update(JSON.stringify([name, own]))
      .digest('hex');
    const known = this.#opened.get(key);
    if (known !== undefined) return known.client;
    const client = this.#start({
      name,
      fields: own,
      log,
      signal: anySignal([this.#over.signal, AbortSignal.timeout(startMs)]),
    });
    this.#opened.set(key, { name, client });
    // The next one tries again.
    client.catch(() => this.#opened.delete(key));
    return client;
  }

  async #start(account: ClientAccount): Promise<unknown> {
    try {
      account.signal.throwIfAborted();
      return await within(
        Reflect.apply(staticOf(this.#Class, 'start') as Start, this.#Class, [account]),
        account.signal,
      );
    } catch (cause) {
      const words = `plugin ${this.#plan.plugin} could not start its client for ${account.name}: ${cause instanceof Error ? cause.message : String(cause)}`;
      if (!isPluginError(cause)) throw new PluginError('Retryable', words, { cause });
      throw new PluginError(cause.kind, words, { cause, retryAfterMs: cause.retryAfterMs });
    }
  }

  async #stop(name: string, client: Promise<unknown>): Promise<void> {
    const stop = staticOf(this.#Class, 'stop') as Stop | undefined;
    const late = new AbortController();
    try {
      const started = await client.then(
        (value) => ({ value }),
        () => undefined,
      );
      if (started === undefined || stop === undefined) return;
      const stopped = Promise.resolve(Reflect.apply(stop, this.#Class, [started.value])).then(() => true);
      const isStopped = await Promise.race([stopped, pause(stopMs, false, { signal: late.signal })]);
      if (!isStopped)
        this.#say(
          `plugin ${this.#plan.plugin} did not stop its client for ${name} within ${stopMs / 1_000} s`,
        );
    } catch (error) {
      this.#say(
        `plugin ${this.#plan.plugin} could not stop its client for ${name}: ${error instanceof Error ? error.message : String(error)}`,
      );
    } finally {
      late.abort();
    }
  }
}

function staticOf(Class: object, name: 'start' | 'stop'): unknown {
  const method: unknown = Reflect.get(Class, name);
  return typeof method === 'function' ? method : undefined;
}

async function within(work: unknown, signal: AbortSignal): Promise<unknown> {
  let leave = (): void => {
    /* Replaced at once. */
  };
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
  });
  try {
    return await Promise.race([work, left]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
