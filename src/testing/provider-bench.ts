import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { anySignal } from '../model/signals.js';
import type { Action } from '../model/action.js';
import type { JsonObject } from '../model/json.js';
import { hostname, machineKey, tagNames } from '../model/names.js';
import { mergePayload } from '../model/node/payload.js';
import type { Machine, MachineInput } from '../plugins/contract.js';
import { isPluginError } from '../plugins/errors.js';
import { loadRegistry, type ProviderWithAbilities, type RegisteredProvider } from '../plugins/registry.js';
import { CountedCalls, createClaims, Hearing, makeTask, takeResult } from './attempt.js';
import { readFields, textAt } from './provider-fields.js';
import { openProxy, type ApiProxy } from './proxy.js';
import type { ProviderSuiteOptions, SuiteAccount } from './provider-suite.js';
import { until, untilReady } from './until.js';

/** A machine of a case: who it is, and what is known of it so far. */
export interface Subject {
  readonly key: string;
  readonly nodeId: string;
  readonly tags: Readonly<Record<string, string>>;
  config: JsonObject;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** In place of the account's. */
  readonly fields?: JsonObject;
  readonly flavor?: string;
  /** Whether the plugin is told the id; it is, unless this is false. */
  readonly withId?: boolean;
}

/** One account of a provider, called as the engine calls it: an object for each attempt. */
export class ProviderBench {
  readonly plugin: RegisteredProvider;
  readonly options: ProviderSuiteOptions;
  readonly proxy: ApiProxy | undefined;
  readonly fields: JsonObject;
  readonly written: { readonly admin: JsonObject; readonly user: JsonObject };
  readonly secrets: readonly string[];
  /** A file that may be uploaded as an image. */
  readonly upload: SuiteAccount['upload'];
  /** In place of the account's: with these, nobody answers. */
  readonly silent: JsonObject | undefined;
  /** Changes resources that nobody logs in to, and looks at them. */
  readonly marks: SuiteAccount['marks'];
  readonly hearing = new Hearing();
  /** Calls that the plugin waited for. */
  readonly calls = new CountedCalls();
  /** Stands for this run among others on the same account. */
  readonly installation = randomUUID();
  readonly #claims = createClaims();
  readonly #clusterUid = randomUUID();
  readonly kind: { readonly flavor: string; readonly image: string };
  #count = 0;

  constructor(
    parts: Pick<
      ProviderBench,
      | 'plugin'
      | 'options'
      | 'proxy'
      | 'fields'
      | 'written'
      | 'secrets'
      | 'upload'
      | 'silent'
      | 'marks'
      | 'kind'
    >,
  ) {
    this.plugin = parts.plugin;
    this.options = parts.options;
    this.proxy = parts.proxy;
    this.fields = parts.fields;
    this.written = parts.written;
    this.secrets = parts.secrets;
    this.upload = parts.upload;
    this.silent = parts.silent;
    this.marks = parts.marks;
    this.kind = parts.kind;
    this.hearing.hide(parts.secrets);
  }

  get patienceMs(): number {
    return this.options.patienceMs ?? 120_000;
  }

  /** The same account, by a plugin that was loaded anew. */
  by(plugin: RegisteredProvider): ProviderBench {
    const { options, proxy, fields, written, secrets, upload, silent, marks } = this;
    return new ProviderBench({
      plugin,
      options,
      proxy,
      fields,
      written,
      secrets,
      upload,
      silent,
      marks,
      kind: this.kind,
    });
  }

  /** A machine that is not made yet. */
  subject(): Subject {
    this.#count += 1;
    const nodeId = `app-${this.#count}`;
    const key = machineKey(this.#clusterUid, nodeId, 1);
    const tags = {
      [tagNames.installation]: this.installation,
      [tagNames.key]: key,
      [tagNames.cluster]: 'suite',
      [tagNames.node]: nodeId,
    };
    return { key, nodeId, tags, config: { ...this.kind, hostname: hostname('suite', nodeId) } };
  }

  /** Uses a machine of its own, and sees to it that it is gone afterwards. */
  async with(use: (subject: Subject) => Promise<void>): Promise<void> {
    const subject = this.subject();
    try {
      await use(subject);
    } finally {
      this.proxy?.clear();
      await this.remove(subject);
    }
  }

  async create(subject: Subject, options: CallOptions = {}): Promise<JsonObject> {
    const { key, tags, nodeId } = subject;
    const token = createHash('sha256').update(key).digest('hex');
    const { flavor, image } = this.kind;
    const input = {
      key,
      tags,
      token,
      flavor: options.flavor ?? flavor,
      image,
      hostname: hostname('suite', nodeId),
      fields: this.#fields(options),
    };
    return this.#carryOut('CREATE', subject, options, (provider) => provider.create(input));
  }

  confirm(subject: Subject, options: CallOptions = {}): Promise<JsonObject> {
    return this.#carryOut('CONFIRM', subject, options, (provider) =>
      provider.confirm(this.#input(subject, options)),
    );
  }

  delete(subject: Subject, options: CallOptions = {}): Promise<JsonObject> {
    return this.#carryOut('DELETE', subject, options, (provider) =>
      provider.delete(this.#input(subject, options)),
    );
  }

  /** CREATE, and CONFIRM until it is ready. */
  async up(subject: Subject): Promise<void> {
    await this.create(subject);
    await untilReady('the machine to be ready', () => this.confirm(subject), this.patienceMs);
  }

  /** DELETE until absence was seen. */
  async remove(subject: Subject, options: CallOptions = {}): Promise<void> {
    await untilReady('the machine to be gone', () => this.delete(subject, options), this.patienceMs);
  }

  async list(tags: Readonly<Record<string, string>>, options: CallOptions = {}): Promise<readonly Machine[]> {
    const provider = this.#open('CONFIRM', this.subject(), options);
    return this.#heard(() => provider.list?.(tags) ?? Promise.reject(new Error('it has no list')));
  }

  async find(key: string, options: CallOptions = {}): Promise<readonly Machine[]> {
    const provider = this.#open('CONFIRM', this.subject(), options);
    const found = await this.#heard(
      () => provider.find?.(key) ?? Promise.reject(new Error('it has no find')),
    );
    return found.filter(({ state }) => state !== 'gone');
  }

  /** Asks for what is done with a machine that is there. A verb may take as long as the case has patience. */
  async act<Answer>(
    subject: Subject,
    call: (provider: ProviderWithAbilities, machine: MachineInput) => Promise<Answer> | undefined,
    options: CallOptions = {},
  ): Promise<Answer> {
    const signal = anySignal([
      AbortSignal.timeout(this.patienceMs),
      ...(options.signal === undefined ? [] : [options.signal]),
    ]);
    const provider = this.#openWith('CONFIRM', subject, { ...options, signal });
    return this.#heard(
      () =>
        call(provider, this.#input(subject, options)) ?? Promise.reject(new Error('it has no such method')),
    );
  }

  /** Asks for what has nothing to do with any machine. */
  ask<Answer>(
    call: (provider: ProviderWithAbilities) => Promise<Answer> | undefined,
    options: CallOptions,
  ): Promise<Answer> {
    const provider = this.#open('CONFIRM', this.subject(), options);
    return this.#heard(() => call(provider) ?? Promise.reject(new Error('it has no such method')));
  }

  has(ability: 'list' | 'find'): boolean {
    return this.plugin.abilities.includes(ability);
  }

  /** Waits until what an earlier call did, or may still do, can be seen. */
  async untilVisible(): Promise<void> {
    const { idempotency, callDeadlineMs, consistencyWindowMs } = this.plugin.descriptor;
    const { proxy } = this;
    if (proxy !== undefined) {
      await until(
        'its API to have done what it was asked for',
        () => Promise.resolve(proxy.underWay() === 0),
        this.patienceMs,
      );
      await pause(consistencyWindowMs);
    } else if (idempotency === 'tag' || idempotency === 'name')
      await pause(callDeadlineMs + consistencyWindowMs);
    else await pause(consistencyWindowMs);
  }

  /** Makes it as the next attempt does after one that was lost. */
  async createAgain(subject: Subject): Promise<JsonObject> {
    if (this.plugin.descriptor.idempotency === 'token') return this.create(subject);
    await this.untilVisible();
    const [found] = await this.find(subject.key);
    if (found === undefined) return this.create(subject);
    const result: JsonObject = { ...found.created, providerid: found.providerid };
    subject.config = mergePayload(subject.config, result);
    return result;
  }

  #input({ key, tags, config }: Subject, options: CallOptions): MachineInput {
    const id = config['providerid'];
    return {
      key,
      tags,
      fields: this.#fields(options),
      ...(typeof id === 'string' && options.withId !== false ? { providerid: id } : {}),
    };
  }

  #fields({ fields = this.fields }: CallOptions): JsonObject {
    return fields;
  }

  #open(taskName: Action, subject: Subject, options: CallOptions): ProviderWithAbilities {
    const { callDeadlineMs } = this.plugin.descriptor;
    return this.#openWith(taskName, subject, {
      ...options,
      signal: anySignal([
        AbortSignal.timeout(callDeadlineMs),
        ...(options.signal === undefined ? [] : [options.signal]),
      ]),
    });
  }

  #openWith(
    taskName: Action,
    { nodeId, config }: Subject,
    { signal, ...options }: CallOptions & { readonly signal: AbortSignal },
  ): ProviderWithAbilities {
    const { name } = this.plugin.descriptor;
    const fields = this.#fields(options);
    const task = makeTask({
      taskName,
      nodeId,
      clusterUid: this.#clusterUid,
      config,
      provider: { name: 'suite', type: name, fields },
    });
    return this.plugin.create({
      task,
      log: this.hearing.log,
      signal,
      fields,
      claims: this.#claims,
      calls: this.calls,
    });
  }

  async #carryOut(
    taskName: Action,
    subject: Subject,
    options: CallOptions,
    call: (provider: ProviderWithAbilities) => ReturnType<ProviderWithAbilities['create']>,
  ): Promise<JsonObject> {
    const { result, said } = takeResult(
      await this.#heard(() => call(this.#open(taskName, subject, options))),
      { plugin: this.plugin.descriptor, action: taskName },
    );
    this.hearing.hear(said);
    subject.config = mergePayload(subject.config, result);
    return result;
  }

  async #heard<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    try {
      return await call();
    } catch (error) {
      this.hearing.hear(
        error instanceof Error
          ? `${error.message}\n${isPluginError(error) ? `${error.stdout ?? ''}\n${error.stderr ?? ''}` : ''}`
          : String(error),
      );
      throw error;
    }
  }
}

/** Loads the plugin as a worker does, and opens the account. */
export async function openProviderBench(
  options: ProviderSuiteOptions,
): Promise<{ readonly bench: ProviderBench; readonly close: () => Promise<void> }> {
  const registry = await loadRegistry({ folders: options.folders ?? [], log: { info: () => undefined } });
  const closers = [() => registry.close()];
  const close = async (): Promise<void> => {
    for (const end of closers.toReversed()) await end();
  };
  try {
    const plugin = registry.provider(options.name);
    const account = await options.open();
    if (account.close !== undefined) closers.push(account.close);
    const proxy =
      options.endpoint === undefined ? undefined : await openProxy(textAt(account.admin, options.endpoint));
    if (proxy !== undefined) closers.push(() => proxy.close());
    const admin = {
      ...account.admin,
      ...(proxy === undefined || options.endpoint === undefined
        ? {}
        : { [options.endpoint]: proxy.endpoint }),
    };
    const written = { admin, user: account.user ?? {} };
    const { fields, secrets } = await readFields(plugin, written);
    return {
      bench: new ProviderBench({
        plugin,
        options,
        proxy,
        fields,
        written,
        secrets,
        upload: account.upload,
        silent: account.silent,
        marks: account.marks,
        kind: account,
      }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
