import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Action } from '../model/action.js';
import { isJsonObject, type JsonObject } from '../model/json.js';
import { hostname, machineKey, tagNames } from '../model/names.js';
import { mergePayload } from '../model/payload.js';
import type { Machine, MachineInput } from '../plugins/contract.js';
import { isPluginError } from '../plugins/errors.js';
import { loadRegistry, type ProviderWithAbilities, type RegisteredProvider } from '../plugins/registry.js';
import { checkFields, passedReferences } from '../schema/fields.js';
import { formatProblem, hasErrors } from '../schema/problem.js';
import { resolveSecrets } from '../secrets/reference.js';
import { createClaims, Hearing, makeTask, takeResult } from './attempt.js';
import { openProxy, type ApiProxy } from './proxy.js';
import type { ProviderSuiteOptions } from './provider-suite.js';
import { untilReady } from './until.js';

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
  readonly hearing = new Hearing();
  /** Stands for this run among others on the same account. */
  readonly installation = randomUUID();
  readonly #claims = createClaims();
  readonly #clusterUid = randomUUID();
  readonly #kind: { readonly flavor: string; readonly image: string };
  #count = 0;

  constructor(parts: Pick<ProviderBench, 'plugin' | 'options' | 'proxy' | 'fields' | 'written' | 'secrets'> & { readonly kind: { readonly flavor: string; readonly image: string } }) {
    this.plugin = parts.plugin;
    this.options = parts.options;
    this.proxy = parts.proxy;
    this.fields = parts.fields;
    this.written = parts.written;
    this.secrets = parts.secrets;
    this.#kind = parts.kind;
    this.hearing.hide(parts.secrets);
  }

  get patienceMs(): number {
    return this.options.patienceMs ?? 60_000;
  }

  /** A machine that is not made yet. */
  subject(): Subject {
    this.#count += 1;
    const nodeId = `app-${this.#count}`;
    const key = machineKey(this.#clusterUid, nodeId, 1);
    const tags = { [tagNames.installation]: this.installation, [tagNames.key]: key, [tagNames.cluster]: 'suite', [tagNames.node]: nodeId };
    return { key, nodeId, tags, config: { ...this.#kind, hostname: hostname('suite', nodeId) } };
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
    const { flavor, image } = this.#kind;
    const input = { key, tags, token, flavor: options.flavor ?? flavor, image, hostname: hostname('suite', nodeId), fields: this.#fields(options) };
    return this.#carryOut('CREATE', subject, options, (provider) => provider.create(input));
  }

  confirm(subject: Subject, options: CallOptions = {}): Promise<JsonObject> {
    return this.#carryOut('CONFIRM', subject, options, (provider) => provider.confirm(this.#input(subject, options)));
  }

  delete(subject: Subject, options: CallOptions = {}): Promise<JsonObject> {
    return this.#carryOut('DELETE', subject, options, (provider) => provider.delete(this.#input(subject, options)));
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
    const found = await this.#heard(() => provider.find?.(key) ?? Promise.reject(new Error('it has no find')));
    return found.filter(({ state }) => state !== 'gone');
  }

  has(ability: 'list' | 'find'): boolean {
    return this.plugin.abilities.includes(ability);
  }

  /** Waits until what an earlier call did, or may still do, can be seen. */
  async untilVisible(): Promise<void> {
    const { idempotency, callDeadlineMs, consistencyWindowMs } = this.plugin.descriptor;
    if (idempotency === 'tag' || idempotency === 'name') await pause(callDeadlineMs + consistencyWindowMs);
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
    return { key, tags, fields: this.#fields(options), ...(typeof id === 'string' && options.withId !== false ? { providerid: id } : {}) };
  }

  #fields({ fields = this.fields }: CallOptions): JsonObject {
    return fields;
  }

  #open(taskName: Action, { nodeId, config }: Subject, options: CallOptions): ProviderWithAbilities {
    const { name, callDeadlineMs } = this.plugin.descriptor;
    const fields = this.#fields(options);
    const signal = AbortSignal.any([AbortSignal.timeout(callDeadlineMs), ...(options.signal === undefined ? [] : [options.signal])]);
    const task = makeTask({ taskName, nodeId, clusterUid: this.#clusterUid, config, provider: { name: 'suite', type: name, fields } });
    return this.plugin.create({ task, log: this.hearing.log, signal, fields, claims: this.#claims });
  }

  async #carryOut(taskName: Action, subject: Subject, options: CallOptions, call: (provider: ProviderWithAbilities) => ReturnType<ProviderWithAbilities['create']>): Promise<JsonObject> {
    const { result, said } = takeResult(this.plugin.descriptor.name, await this.#heard(() => call(this.#open(taskName, subject, options))));
    this.hearing.hear(said);
    subject.config = mergePayload(subject.config, result);
    return result;
  }

  async #heard<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    try {
      return await call();
    } catch (error) {
      this.hearing.hear(error instanceof Error ? `${error.message}\n${isPluginError(error) ? `${error.stdout ?? ''}\n${error.stderr ?? ''}` : ''}` : String(error));
      throw error;
    }
  }
}

/** Loads the plugin as a worker does, and opens the account. */
export async function openProviderBench(options: ProviderSuiteOptions): Promise<{ readonly bench: ProviderBench; readonly close: () => Promise<void> }> {
  const registry = await loadRegistry({ folders: options.folders ?? [], log: { info: () => undefined } });
  const closers = [() => registry.close()];
  const close = async (): Promise<void> => {
    for (const end of closers.toReversed()) await end();
  };
  try {
    const plugin = registry.provider(options.name);
    const account = await options.open();
    if (account.close !== undefined) closers.push(account.close);
    const proxy = options.endpoint === undefined ? undefined : await openProxy(textAt(account.admin, options.endpoint));
    if (proxy !== undefined) closers.push(() => proxy.close());
    const admin = { ...account.admin, ...(proxy === undefined || options.endpoint === undefined ? {} : { [options.endpoint]: proxy.endpoint }) };
    const written = { admin, user: account.user ?? {} };
    const { fields, secrets } = await readFields(plugin, written);
    return { bench: new ProviderBench({ plugin, options, proxy, fields, written, secrets, kind: account }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** As the engine does it: the fields are checked, defaults filled in, secrets resolved. */
async function readFields({ descriptor }: RegisteredProvider, written: ProviderBench['written']): Promise<{ readonly fields: JsonObject; readonly secrets: readonly string[] }> {
  const admin = checkFields(descriptor, 'admin', written.admin, ['admin']);
  const user = checkFields(descriptor, 'user', written.user, ['user']);
  const problems = [...admin.problems, ...user.problems];
  if (hasErrors(problems)) throw new Error(`the fields of the suite's account are wrong: ${problems.map(formatProblem).join('; ')}`);
  const all: JsonObject = { ...admin.values, ...user.values };
  const passed = passedReferences(descriptor);
  const split = (kept: boolean): JsonObject => Object.fromEntries(Object.entries(all).filter(([key]) => passed.includes(key) === kept));
  const { value, secrets } = await resolveSecrets(split(false), { environment: {} });
  const declared = Object.entries({ ...descriptor.fields?.admin, ...descriptor.fields?.user });
  const plain = declared.flatMap(([key, field]) => (field.secret === true && typeof all[key] === 'string' ? [all[key]] : []));
  return { fields: { ...(isJsonObject(value) ? value : {}), ...split(true) }, secrets: [...secrets, ...plain] };
}

function textAt(fields: JsonObject, key: string): string {
  const value = fields[key];
  if (typeof value === 'string') return value;
  throw new Error(`endpoint names the field ${key}, but the account's admin fields have no text there`);
}
