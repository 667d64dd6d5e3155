import type { Json, JsonObject } from '../model/json.js';
import type { Task, TaskResult } from '../model/node/task.js';
import { PluginError } from './errors.js';
import type { MachineAbilities, MachineInput } from './machine-abilities.js';
import type {
  Calls,
  Claims,
  CreateRecord,
  NodeAddress,
  NodePools,
  PluginLog,
  RunRecords,
  Shell,
} from './services.js';

export type * from './machine-abilities.js';
export type * from './services.js';
export type { Json, JsonObject } from '../model/json.js';
export type { Peer, Task, TaskResource, TaskResult } from '../model/node/task.js';
export {
  isPluginError,
  PluginError,
  failureKinds,
  type FailureKind,
  type PluginErrorOptions,
} from './errors.js';
export { takeSteps, undoSteps, type Step } from './steps.js';

/** The context of one attempt of one task. A plugin object lives for one attempt. */
export interface PluginContext {
  readonly task: Task;
  readonly log: PluginLog;
  /** Aborted when the task is cancelled or the call's deadline has passed. */
  readonly signal: AbortSignal;
  /**
   * Aborted when this attempt ends and another continues, if the plugin runs in the worker: detached work
   * keeps running. `signal` of a provider is then aborted too.
   */
  readonly detach?: AbortSignal;
  /**
   * For providers: the administrator's fields, overridden by the user's. For automators: the administrator's
   * fields under `automators` in heddle.yaml. Validated, with defaults and resolved secrets.
   */
  readonly fields: JsonObject;
  /** For providers whose machines carry no tags: the claims of machines by key. */
  readonly claims?: Claims;
  /** For providers that start programs outside of the worker. */
  readonly runs?: RunRecords;
  /** For providers: the account's rate limit. */
  readonly calls?: Calls;
  /** For CREATE: the record of what its attempts have made. */
  readonly record?: CreateRecord;
  /**
   * For providers that run in the worker: resolves references in a file of the administrator that the fields
   * name. `place` identifies it in messages.
   * @throws PluginError Auth if a secret is not available.
   */
  readonly resolveReferences?: (value: JsonObject, place: string) => Promise<JsonObject>;
  /** For the provider whose machines are pool nodes. */
  readonly pools?: NodePools;
  /** For automators that run in the worker: a note for later attempts of the task. */
  readonly note?: AttemptNote;
  /** For a class with a static `start`: the client of the account, started on first use. */
  readonly client?: () => Promise<unknown>;
}

/** A note for later attempts of one task. The Temporal server stores it, so no node can change it. */
export interface AttemptNote {
  /** The last note of an earlier attempt; undefined or null if none exists. */
  readonly before: Json | undefined;
  /**
   * Resolves when the note is stored and survives this worker, which may take seconds. At most a few KiB.
   * @throws PluginError Retryable if it cannot be stored.
   */
  write(note: Json): Promise<void>;
}

export interface SshAuth extends JsonObject {
  readonly user: string;
}

export interface CreateInput {
  /** The provider's name for the machine's size. */
  readonly flavor: string;
  readonly image: string;
  readonly hostname: string;
  readonly fields: JsonObject;
  /** Permanent name: `<clusterUid>/<nodeId>/<incarnation>`. A key must never get two machines. */
  readonly key: string;
  /** The key as a client token: 64 lower-case hexadecimal digits. */
  readonly token: string;
  /** Tags to set on the machine in the creating call; `list` and `find` filter by them. */
  readonly tags: Readonly<Record<string, string>>;
}

/** A machine as its provider reports it. */
export interface Machine {
  readonly providerid: string;
  /** The key that it was created with, if its tags contain it. */
  readonly key?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly state: 'starting' | 'running' | 'stopped' | 'failed' | 'deleting' | 'gone';
  /** Creation time according to the provider, RFC 3339. */
  readonly createdAt?: string;
  /**
   * The current `ipaddress`, if the call returns it. An address that differs from CONFIRM's means that the
   * machine has moved.
   */
  readonly address?: string;
  /**
   * Set by `find`: the result CREATE returned. Lets a retry adopt a machine whose CREATE response was lost.
   * Absent while a part of the machine is missing, and if the provider cannot reproduce the whole result,
   * such as a password that it shows only once: such a machine is replaced.
   */
  readonly created?: JsonObject;
}

/** The context of an attempt, as members. `Fields` is the type of the fields that the descriptor declares. */
abstract class Plugin<Fields extends object = JsonObject> {
  readonly task: Task;
  readonly log: PluginLog;
  readonly signal: AbortSignal;
  readonly fields: Fields;
  readonly #client: PluginContext['client'];

  constructor(context: PluginContext) {
    this.task = context.task;
    this.log = context.log;
    this.signal = context.signal;
    // The engine has checked them.
    this.fields = context.fields as unknown as Fields;
    this.#client = context.client;
  }

  /** The client that the class's static `start` opened. @throws PluginError if it could not start. */
  protected async client<Client>(): Promise<Client> {
    if (this.#client === undefined)
      throw new PluginError('Invalid', 'the class has no static start to open its client');
    return (await this.#client()) as Client;
  }
}

const unlimited: Calls = { take: () => Promise.resolve() };
/** Without an engine, as in `heddle plugins run`, assume that an earlier CREATE may have been sent. */
const unrecorded: CreateRecord = { read: () => Promise.resolve({}), write: () => Promise.resolve() };

/**
 * A provider creates, confirms and deletes machines. Three methods are required; abilities such as `list`,
 * `find` and `quota` are optional. Every call may happen twice and may be interrupted at any point.
 */
export abstract class Provider<Fields extends object = JsonObject> extends Plugin<Fields> {
  readonly calls: Calls;
  /** The record of what attempts of CREATE have made; `takeSteps` reads and writes it. */
  readonly record: CreateRecord;

  constructor(context: PluginContext) {
    super(context);
    this.calls = context.calls ?? unlimited;
    this.record = context.record ?? unrecorded;
  }

  /**
   * Requests a machine and returns as soon as the request is accepted. Returns `providerid`, often
   * `ssh-auth.user`.
   */
  abstract create(input: CreateInput): Promise<TaskResult | void>;

  /**
   * Checks once whether the machine is ready; throws NotReady while it is not. Also called for machines in
   * service, to detect changes. Returns `ipaddress`, and `ssh-port`, `ssh-auth`, `ssh-host-key` if the
   * provider knows them. The engine then checks that SSH answers at that address.
   */
  abstract confirm(input: MachineInput): Promise<TaskResult | void>;

  /**
   * Destroys the machine. An absent machine is success. It returns only if absence was observed, and
   * otherwise throws NotReady. For a provider with a `consistencyWindowMs` the engine calls again after that
   * time and accepts the second answer.
   */
  abstract delete(input: MachineInput): Promise<TaskResult | void>;
}

/**
 * For providers that find machines by id. An id comes from a payload, so it may name any machine of the
 * account; only the key in the machine's tag `heddle-key` proves which node it belongs to.
 * @throws PluginError Invalid for a machine with another key or without one.
 */
export function requireKey(
  { providerid, key: shown }: { readonly providerid: string; readonly key: string | undefined },
  key: string,
): void {
  if (shown === key) return;
  const has = shown === undefined ? 'has no tag heddle-key' : `has the key ${shown}`;
  throw new PluginError(
    'Invalid',
    `machine ${providerid} ${has}, and this node's machine has the key ${key}; it was left unchanged. ` +
      'Check the machine at its provider, then replace the node',
  );
}

/** Limits of an account and its total usage: `nodes`, `cores`, `memory` in MiB, or names of the provider. */
export interface AccountQuota {
  readonly limits: Readonly<Record<string, number>>;
  readonly used: Readonly<Record<string, number>>;
  /** Resources of one machine of each requested flavor; unknown flavors are omitted. */
  readonly sizes?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** Flavors whose sizes are requested in addition to the quota. */
export interface WantedSizes {
  readonly flavors: readonly string[];
}

/** The flavor and the image of a group, by the provider's names. */
export interface WantedKind {
  readonly flavor: string;
  readonly image: string;
}

/**
 * The flavors and images of an account, by the provider's names. A list that is omitted is unknown and
 * rejects nothing. If a list would be long, `refused` says why CREATE would reject the requested flavor or
 * image.
 */
export interface AccountOffers {
  readonly flavors?: readonly string[];
  readonly images?: readonly string[];
  readonly refused?: { readonly flavor?: string | undefined; readonly image?: string | undefined };
  /**
   * For existing machines: how many nodes can still be created, of all flavors and images and
   * of the requested ones. A plan that needs more is rejected. `machines`: the names of the
   * machines that the requested nodes can get. A plan checks the secrets of their logins.
   */
  readonly free?: { readonly all: number; readonly ofKind: number; readonly machines?: readonly string[] };
}

/** Optional methods of a provider: its abilities. */
export interface ProviderAbilities extends MachineAbilities {
  /**
   * Lists the existing machines that carry all of the given tags. One call returns the whole
   * account: for leak detection, to detect machines that are gone, stopped or moved, and to
   * find machines of a previous run of a cluster. The result may lag by the descriptor's
   * `consistencyWindowMs`. Also called outside of tasks: `this.task` then names no node.
   */
  list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]>;
  /**
   * Finds all machines made with this key; more than one indicates an earlier fault. Called if
   * a list is in doubt, and to adopt the machine of an earlier CREATE. An empty result counts
   * as absence after two calls that are `consistencyWindowMs` apart.
   */
  find(key: string): Promise<readonly Machine[]>;
  /** The account's quota, which limits pools. Called outside of tasks: `this.task` names no node. */
  quota(wanted: WantedSizes): Promise<AccountQuota>;
  /**
   * The flavors and images that the account offers, so that a plan rejects what CREATE would reject.
   * Called outside of tasks: `this.task` names no node. It must not reject anything that it cannot check.
   */
  offers(wanted: WantedKind): Promise<AccountOffers>;
  /**
   * The last KiB of the machine's console output since it booted, as text; undefined if the
   * provider has none. Called if CONFIRM fails. It only reads, and its errors are logged.
   */
  consoleOutput(input: MachineInput): Promise<string | undefined>;
  /**
   * DELETE of this machine has succeeded and its absence was verified: for clean-up in other
   * systems. This and `nodeReused` may be called twice, or never if a worker dies, so nothing
   * may depend on them. Errors are only logged.
   */
  nodeDeleted(input: MachineInput): Promise<void>;
  /**
   * A used machine of a pool is ready for the next request. Called outside of tasks:
   * `this.task` names no node.
   */
  nodeReused(input: MachineInput): Promise<void>;
}

/** The part of the context that only automators have. */
export interface AutomatorParts {
  readonly shell: Shell;
  /** For a tool on the worker that opens its own SSH connections; absent in plugins that run as programs. */
  readonly address?: NodeAddress;
  /**
   * Writes the output of a tool on the worker to the task's log, immediately and with secrets redacted.
   * Results do not repeat it. Absent in plugins that run as programs.
   */
  readonly print?: (stream: 'stdout' | 'stderr', text: string) => Promise<void>;
  /** The user's timeout for this run, in ms; the engine enforces it for scripts. */
  readonly timeoutMs?: number;
}

/**
 * An automator performs a service's actions on a node, with seven methods. BOOTSTRAP belongs to no service:
 * it runs for every registered automator, any number of times, and must not interfere with the others.
 */
export abstract class Automator extends Plugin {
  /** The node of this task. */
  readonly shell: Shell;

  constructor(context: PluginContext & AutomatorParts) {
    super(context);
    this.shell = context.shell;
  }

  /** Prepares the node for this automator: idempotent, unintrusive. */
  abstract bootstrap(sshAuth: SshAuth): Promise<TaskResult | void>;
  abstract install(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult | void>;
  abstract configure(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult | void>;
  /** Carries out INITIALIZE. */
  abstract init(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult | void>;
  abstract start(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult | void>;
  abstract stop(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult | void>;
  abstract remove(sshAuth: SshAuth, script: string, data: string): Promise<TaskResult | void>;
}
