import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Action } from '../model/action.js';
import type { JsonObject } from '../model/json.js';
import { hostname } from '../model/names.js';
import { mergePayload } from '../model/node/payload.js';
import { anySignal } from '../model/signals.js';
import type { CreateRecord, Machine, MachineInput } from '../plugins/contract.js';
import { isPluginError } from '../plugins/errors.js';
import { clientToken, machineInput } from '../plugins/provider-call.js';
import type { ProviderWithAbilities, RegisteredProvider } from '../plugins/registry.js';
import { loginReferences } from '../plugins/login-references.js';
import { CountedCalls, createClaims, makeTask, takeResult, Transcript } from './attempt.js';
import type { ProviderBenchOptions, SuiteAccount } from './provider-options.js';
import type { ApiProxy } from './proxy.js';
import type { Surroundings } from './surroundings.js';
import { longestPauseMs, until, untilReady } from './until.js';

/** An account that the suite opened, and the fields that its plugin gets. */
export interface OpenedAccount {
  readonly plugin: RegisteredProvider;
  readonly options: ProviderBenchOptions;
  readonly account: SuiteAccount;
  readonly surroundings: Surroundings;
  /** Between the plugin and its API; absent without `options.endpoint`. */
  readonly proxy: ApiProxy | undefined;
  readonly written: WrittenFields;
  /** Checked, with defaults and resolved secrets. */
  readonly fields: JsonObject;
  /** The same with `account.silent`. */
  readonly silent: JsonObject | undefined;
  readonly secrets: readonly string[];
}

/** Fields of an account as its administrator and a user wrote them. */
interface WrittenFields {
  readonly admin: JsonObject;
  readonly user: JsonObject;
}

/** A machine of a case, and its node's payload so far. */
export interface Subject {
  readonly key: string;
  readonly nodeId: string;
  readonly tags: Readonly<Record<string, string>>;
  config: JsonObject;
  /** When the last call of CREATE had ended, also in its API: `Date.now()`. */
  createdAt?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Replace the account's fields. */
  readonly fields?: JsonObject;
  readonly flavor?: string;
  /** Whether the plugin gets the providerid; true by default. */
  readonly withId?: boolean;
}

/** Attempts of one call; a cloud that refuses more in a row is not at work. */
const mostAttempts = 8;

/** One account of a provider, called as the engine calls it: each attempt has its own plugin object. */
export class ProviderBench {
  readonly opened: OpenedAccount;
  readonly transcript = new Transcript();
  /** Calls for which the plugin waited. */
  readonly calls = new CountedCalls();
  /** Separates this run from others on the same account. */
  readonly installation = randomUUID();
  readonly #claims = createClaims();
  readonly #runClaims = createClaims();
  readonly #runFolder = join(tmpdir(), `heddle-runs-${randomUUID()}`);
  readonly #clusterUid = randomUUID();
  /** What CREATE recorded, by the machine's key. */
  readonly #records = new Map<string, JsonObject>();
  #count = 0;

  constructor(opened: OpenedAccount) {
    this.opened = opened;
    this.transcript.hide(opened.secrets);
  }

  get plugin(): RegisteredProvider {
    return this.opened.plugin;
  }

  get proxy(): ApiProxy | undefined {
    return this.opened.proxy;
  }

  get consistencyWindowMs(): number {
    return this.opened.options.consistencyWindowMs ?? this.plugin.descriptor.consistencyWindowMs;
  }

  has(ability: string): boolean {
    return this.plugin.abilities.some((name) => name === ability);
  }

  /** A machine that does not exist yet. */
  subject(): Subject {
    this.#count += 1;
    const nodeId = `app-${this.#count}`;
    const node = { keyUid: this.#clusterUid, nodeId, incarnation: 1, config: {} };
    const { key, tags } = machineInput(this.installation, 'suite', node, {});
    const { flavor, image } = this.opened.account;
    return { key, nodeId, tags, config: { flavor, image, hostname: hostname('suite', nodeId) } };
  }

  /** Runs a case on a machine of its own, which is deleted afterwards. */
  async with(use: (subject: Subject) => Promise<void>): Promise<void> {
    const subject = this.subject();
    try {
      await use(subject);
    } finally {
      this.proxy?.clear();
      await this.remove(subject);
    }
  }

  /** The same for a machine that is ready. */
  withReady(use: (subject: Subject) => Promise<void>): Promise<void> {
    return this.with(async (subject) => {
      await this.up(subject);
      await use(subject);
    });
  }

  create(subject: Subject, options: CallOptions = {}): Promise<JsonObject> {
    return this.#patiently(options, (isFirst) =>
      isFirst ? this.#createOnce(subject, options) : this.#adoptOrCreate(subject, options),
    );
  }

  async #createOnce(subject: Subject, options: CallOptions): Promise<JsonObject> {
    const { key, tags, nodeId } = subject;
    const { flavor, image } = this.opened.account;
    const input = {
      key,
      tags,
      token: clientToken(key),
      flavor: options.flavor ?? flavor,
      image,
      hostname: hostname('suite', nodeId),
      fields: this.#fields(options),
    };
    try {
      return await this.#run('CREATE', subject, options, (provider) => provider.create(input));
    } finally {
      subject.createdAt = await this.#untilIdle();
    }
  }

  confirm(subject: Subject, options: CallOptions = {}): Promise<JsonObject> {
    const input = this.#input(subject, options);
    return this.#patiently(options, () =>
      this.#run('CONFIRM', subject, options, (provider) => provider.confirm(input)),
    );
  }

  delete(subject: Subject, options: CallOptions = {}): Promise<JsonObject> {
    const input = this.#input(subject, options);
    return this.#patiently(options, () =>
      this.#run('DELETE', subject, options, (provider) => provider.delete(input)),
    );
  }

  /** CREATE, and CONFIRM until the machine is ready. */
  async up(subject: Subject): Promise<void> {
    await this.create(subject);
    await this.untilReady(subject);
  }

  /** DELETE until the provider confirms absence. */
  async remove(subject: Subject, options: CallOptions = {}): Promise<void> {
    await untilReady('the machine to be gone', () => this.delete(subject, options), this.#patienceMs);
  }

  list(tags: Readonly<Record<string, string>>, options: CallOptions = {}): Promise<readonly Machine[]> {
    return this.ask((provider) => provider.list?.(tags), options);
  }

  async find(key: string, options: CallOptions = {}): Promise<readonly Machine[]> {
    const found = await this.ask((provider) => provider.find?.(key), options);
    return found.filter(({ state }) => state !== 'gone');
  }

  /** Calls a method that concerns an existing machine. It may take as long as the suite waits. */
  act<Answer>(
    subject: Subject,
    call: (provider: ProviderWithAbilities, machine: MachineInput) => Promise<Answer> | undefined,
    options: CallOptions = {},
  ): Promise<Answer> {
    const input = this.#input(subject, options);
    return this.#patiently(options, () =>
      this.#record(() => call(this.#open('CONFIRM', subject, options, this.#patienceMs), input)),
    );
  }

  /** Calls a method that concerns no machine. */
  ask<Answer>(
    call: (provider: ProviderWithAbilities) => Promise<Answer> | undefined,
    options: CallOptions = {},
  ): Promise<Answer> {
    return this.#patiently(options, () =>
      this.#record(() => call(this.#open('CONFIRM', this.subject(), options))),
    );
  }

  /** Polls until the check returns something. @throws Error after the suite's patience. */
  until<Value>(what: string, check: () => Promise<Value | undefined | false>): Promise<Value> {
    return until(what, check, this.#patienceMs);
  }

  untilReady(subject: Subject): Promise<JsonObject> {
    return untilReady('the machine to be ready', () => this.confirm(subject), this.#patienceMs);
  }

  /**
   * Waits until everything that earlier calls did, or may still do, is visible. They ended now, or at a time.
   */
  async untilVisible(endedAt?: number): Promise<void> {
    const { idempotency, callDeadlineMs } = this.plugin.descriptor;
    const isUnseen = this.proxy === undefined && (idempotency === 'tag' || idempotency === 'name');
    const visibleAt =
      (endedAt ?? (await this.#untilIdle())) + (isUnseen ? callDeadlineMs : 0) + this.consistencyWindowMs;
    await pause(Math.max(0, visibleAt - Date.now()));
  }

  /**
   * Waits until the API has no call under way, and returns the time. Without a proxy calls cannot be seen.
   */
  async #untilIdle(): Promise<number> {
    const { proxy } = this;
    if (proxy !== undefined)
      await this.until('its API to finish', () => Promise.resolve(proxy.underWay() === 0));
    return Date.now();
  }

  /** Creates as the next attempt does after one whose result was lost. */
  createAgain(subject: Subject): Promise<JsonObject> {
    return this.#patiently({}, () => this.#adoptOrCreate(subject, {}));
  }

  async #adoptOrCreate(subject: Subject, options: CallOptions): Promise<JsonObject> {
    if (this.plugin.descriptor.idempotency === 'token') return this.#createOnce(subject, options);
    await this.untilVisible(subject.createdAt);
    const [found] = await this.find(subject.key);
    const isRecorded = Object.keys(this.#records.get(subject.key) ?? {}).length > 0;
    if (found === undefined || isRecorded) return this.#createOnce(subject, options);
    if (found.created === undefined) {
      // The engine replaces it too, under another key.
      await this.remove(subject, { withId: false });
      return this.#createOnce(subject, options);
    }
    const result: JsonObject = { ...found.created, providerid: found.providerid };
    subject.config = mergePayload(subject.config, result);
    return result;
  }

  #recordOf({ key, createdAt }: Subject): CreateRecord {
    return {
      read: () => Promise.resolve(this.#records.get(key) ?? (createdAt === undefined ? undefined : {})),
      write: (made) => {
        this.#records.set(key, made);
        return Promise.resolve();
      },
    };
  }

  get #patienceMs(): number {
    return this.opened.options.patienceMs ?? 120_000;
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

  #fields({ fields = this.opened.fields }: CallOptions): JsonObject {
    return fields;
  }

  #open(
    taskName: Action,
    subject: Subject,
    options: CallOptions,
    limitMs = this.plugin.descriptor.callDeadlineMs,
  ): ProviderWithAbilities {
    const { nodeId, config } = subject;
    const fields = this.#fields(options);
    const provider = { name: 'suite', type: this.plugin.descriptor.name, fields };
    const limit = AbortSignal.timeout(limitMs);
    return this.plugin.create({
      task: makeTask({ taskName, nodeId, clusterUid: this.#clusterUid, config, provider }),
      log: this.transcript.log,
      signal: options.signal === undefined ? limit : anySignal([limit, options.signal]),
      fields,
      claims: this.#claims,
      runs: { folder: this.#runFolder, claims: this.#runClaims },
      calls: this.calls,
      ...(taskName === 'CREATE' ? { record: this.#recordOf(subject) } : {}),
    });
  }

  async #run(
    taskName: Action,
    subject: Subject,
    options: CallOptions,
    call: (provider: ProviderWithAbilities) => ReturnType<ProviderWithAbilities['create']>,
  ): Promise<JsonObject> {
    const returned = await this.#record(() => call(this.#open(taskName, subject, options)));
    const { result, output } = takeResult(returned, {
      plugin: this.plugin.descriptor,
      action: taskName,
      references: await loginReferences(
        { suite: { type: this.plugin.descriptor.name, fields: this.opened.fields } },
        'suite',
        [this.plugin],
      ),
      secrets: this.opened.secrets,
    });
    this.transcript.add(output);
    subject.config = mergePayload(subject.config, result);
    return result;
  }

  /**
   * Repeats a call that the cloud itself refuses, by 429 or 502 as clouds do now and then, as
   * the engine does. Faults that the suite causes pass.
   */
  async #patiently<Answer>(
    { signal, fields }: CallOptions,
    call: (isFirst: boolean) => Promise<Answer>,
  ): Promise<Answer> {
    const isProvoked = (): boolean =>
      signal !== undefined || fields !== undefined || this.proxy?.isArmed() === true;
    for (let attempt = 1; ; attempt += 1) {
      this.opened.account.calm?.(isProvoked());
      try {
        return await call(attempt === 1);
      } catch (error) {
        const isRefusal = isPluginError(error) && error.kind === 'Retryable';
        if (!isRefusal || attempt === mostAttempts || isProvoked()) throw error;
        await pause(Math.min(error.retryAfterMs ?? longestPauseMs, longestPauseMs));
      }
    }
  }

  async #record<Answer>(call: () => Promise<Answer> | undefined): Promise<Answer> {
    try {
      return await (call() ?? Promise.reject(new Error('the plugin has no such method')));
    } catch (error) {
      this.transcript.add(error instanceof Error ? error.message : String(error));
      if (isPluginError(error)) this.transcript.add([error.stdout, error.stderr].join('\n'));
      throw error;
    }
  }
}
