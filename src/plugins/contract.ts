import type { Json, JsonObject } from '../model/json.js';
import type { Task, TaskResult } from '../model/node/task.js';
import { PluginError } from './errors.js';
import type { MachineInput } from './machine-abilities.js';
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

/** What one attempt of one task has at hand. A plugin object lives for one attempt. */
export interface PluginContext {
  readonly task: Task;
  readonly log: PluginLog;
  /** Aborted when the task is cancelled, or when the call's deadline has passed. */
  readonly signal: AbortSignal;
  /**
   * Aborted when this attempt ends and another continues, if the plugin runs in the worker: detached work
   * keeps running. `signal` of a provider is then aborted too.
   */
  readonly detach?: AbortSignal;
  /**
   * For providers the administrator's fields with the user's over them; for automators those that the
   * administrator gave under `automators` in heddle.yaml. Checked, with defaults, secrets resolved.
   */
  readonly fields: JsonObject;
  /** For providers whose machines carry no tags: which key has which machine of the account. */
  readonly claims?: Claims;
  /** For providers that start programs outside of the worker. */
  readonly runs?: RunRecords;
  /** For providers: the account's rate limit. */
  readonly calls?: Calls;
  /** For CREATE: what its attempts have made. */
  readonly record?: CreateRecord;
  /**
   * For providers that run in the worker: resolves the references in what the administrator wrote into a file
   * that the fields name. `place` names it in messages.
   * @throws PluginError Auth if a secret is not available.
   */
  readonly resolveReferences?: (value: JsonObject, place: string) => Promise<JsonObject>;
  /** For the provider whose machines are nodes of pools. */
  readonly pools?: NodePools;
  /** For automators that run in the worker: a note for later attempts of the task. */
  readonly note?: AttemptNote;
  /** Of a class with a static `start`: the client for the account, started on first use. */
  readonly client?: () => Promise<unknown>;
}

/** A note for later attempts of one task. The Temporal server keeps it, where no node can change it. */
export interface AttemptNote {
  /** The last note of an earlier attempt; undefined or null if there is none. */
  readonly before: Json | undefined;
  /**
   * Resolves when the note is recorded, and so outlives this worker; that may take seconds. At most a few
   * KiB.
   * @throws PluginError Retryable when it cannot be recorded.
   */
  write(note: Json): Promise<void>;
}

export interface SshAuth extends JsonObject {
  readonly user: string;
}

export interface CreateInput {
  /** The provider's own word for the machine's size. */
  readonly flavor: string;
  readonly image: string;
  readonly hostname: string;
  readonly fields: JsonObject;
  /** Permanent name: `<clusterUid>/<nodeId>/<incarnation>`. The same key must never give two machines. */
  readonly key: string;
  /** The key as a client token: 64 lower-case hexadecimal digits. */
  readonly token: string;
  /** To be put on the machine in the creating call itself; `list` and `find` look for them. */
  readonly tags: Readonly<Record<string, string>>;
}

/** A machine as its provider shows it. */
export interface Machine {
  readonly providerid: string;
  /** The key it was created with, if its tags contain it. */
  readonly key?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly state: 'starting' | 'running' | 'stopped' | 'failed' | 'deleting' | 'gone';
  /** When the provider says it was created, RFC 3339. */
  readonly createdAt?: string;
  /**
   * Its present `ipaddress`, if the call returns it; an address other than the one CONFIRM left means that
   * the machine has moved.
   */
  readonly address?: string;
  /**
   * Set by `find`: the result CREATE returned. Lets a retry adopt a machine whose CREATE response was lost.
   * Left out while a part of the machine is missing, and where the provider cannot repeat all of it, such as a
   * password that it shows once: such a machine is replaced.
   */
  readonly created?: JsonObject;
}

/** The context of an attempt, as members. */
abstract class Plugin {
  readonly task: Task;
  readonly log: PluginLog;
  readonly signal: AbortSignal;
  readonly fields: JsonObject;
  readonly #client: PluginContext['client'];

  constructor(context: PluginContext) {
    this.task = context.task;
    this.log = context.log;
    this.signal = context.signal;
    this.fields = context.fields;
    this.#client = context.client;
  }

  /** The client that the class's static `start` opened. @throws PluginError when it could not start. */
  protected async client<Client>(): Promise<Client> {
    if (this.#client === undefined)
      throw new PluginError('Invalid', 'the class has no static start, which would open its client');
    return (await this.#client()) as Client;
  }
}

const unlimited: Calls = { take: () => Promise.resolve() };
/** Without an engine, as in `heddle plugins run`, an earlier CREATE may have been sent. */
const unrecorded: CreateRecord = { read: () => Promise.resolve({}), write: () => Promise.resolve() };

/**
 * A provider creates, confirms and deletes machines. Three methods are required; abilities such as `list`,
 * `find` and `quota` are optional. Every call may happen twice and may be cut anywhere.
 */
export abstract class Provider extends Plugin {
  readonly calls: Calls;
  /** What attempts of CREATE have made; `takeSteps` reads and writes it. */
  readonly record: CreateRecord;

  constructor(context: PluginContext) {
    super(context);
    this.calls = context.calls ?? unlimited;
    this.record = context.record ?? unrecorded;
  }

  /**
   * Requests a machine and returns as soon as the request is accepted. Leaves `providerid`, often
   * `ssh-auth.user`.
   */
  abstract create(input: CreateInput): Promise<TaskResult | void>;

  /**
   * Looks once whether the machine is ready; throws NotReady while it is not. Also called for machines in
   * service, to detect changes. Leaves `ipaddress`, and `ssh-port`, `ssh-auth`, `ssh-host-key` where the
   * provider knows them. The engine then checks that SSH answers there.
   */
  abstract confirm(input: MachineInput): Promise<TaskResult | void>;

  /**
   * Destroys the machine. Absence is success; returning means that absence was observed, otherwise it throws
   * NotReady. For a provider with a `consistencyWindowMs` the engine asks again after that time, and accepts
   * the second answer.
   */
  abstract delete(input: MachineInput): Promise<TaskResult | void>;
}

/**
 * For providers that look machines up by id. An id comes from a payload, so it may name any machine of the
 * account; only the key in the machine's tag `heddle-key` proves whose it is.
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
    `machine ${providerid} ${has}, and this node's machine has the key ${key}: nothing was done with it. ` +
      'Look at the machine at its provider; then replace the node',
  );
}

/**
 * Ability: machines that carry all of the given tags, without those that are gone. One call shows a whole
 * account: for leak detection, for machines that are gone, stopped or moved, and for those of a previous run
 * of a cluster. It may lag by the descriptor's `consistencyWindowMs`. Also called outside of tasks:
 * `this.task` then names no node.
 */
export interface CanList {
  list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]>;
}

/**
 * Ability: all machines made with this key; more than one is the trace of an earlier fault. Called where a
 * list is in doubt, and to adopt the machine of an earlier CREATE. None found counts as absence after two
 * calls with `consistencyWindowMs` in between.
 */
export interface CanFind {
  find(key: string): Promise<readonly Machine[]>;
}

/** Limits of an account and its total usage: `nodes`, `cores`, `memory` in MiB, or words of its own. */
export interface AccountQuota {
  readonly limits: Readonly<Record<string, number>>;
  readonly used: Readonly<Record<string, number>>;
  /** What one machine of each wanted flavor takes; unknown flavors are left out. */
  readonly sizes?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** Flavors whose sizes are wanted beside the quota. */
export interface WantedSizes {
  readonly flavors: readonly string[];
}

/**
 * Ability: the account's quota, for pools to stay within. Called outside of tasks: `this.task` names no node.
 */
export interface CanQuota {
  quota(wanted: WantedSizes): Promise<AccountQuota>;
}

/**
 * Ability: the end of what the machine has printed on its console since it booted, some KiB of text; undefined if the
 * provider has none. Called when CONFIRM fails. It only reads, and its errors are logged.
 */
export interface CanShowConsole {
  consoleOutput(input: MachineInput): Promise<string | undefined>;
}

/** The flavor and the image of a group, by the provider's own names. */
export interface WantedKind {
  readonly flavor: string;
  readonly image: string;
}

/**
 * What machines of an account can be made of, by the provider's own names. A list that is left out is unknown,
 * and nothing is refused by it. Where a list would be long, `refused` says why CREATE would refuse the wanted
 * flavor or image.
 */
export interface AccountOffers {
  readonly flavors?: readonly string[];
  readonly images?: readonly string[];
  readonly refused?: { readonly flavor?: string | undefined; readonly image?: string | undefined };
}

/**
 * Ability: what the account offers, so that a plan refuses what CREATE would refuse. Called outside of tasks:
 * `this.task` names no node. It must not refuse what it cannot look up.
 */
export interface CanOffer {
  offers(wanted: WantedKind): Promise<AccountOffers>;
}

/** The part of the context that only automators have. */
export interface AutomatorParts {
  readonly shell: Shell;
  /** For a tool on the worker that logs in by itself; absent in plugins that run as programs. */
  readonly address?: NodeAddress;
  /**
   * Writes what a tool on the worker prints to the task's log, at once and with secrets redacted. Results do not
   * repeat it. Absent in plugins that run as programs.
   */
  readonly print?: (stream: 'stdout' | 'stderr', text: string) => Promise<void>;
  /** The user's timeout for this run, in ms; scripts enforce it by themselves. */
  readonly timeoutMs?: number;
}

/**
 * An automator carries out a service's actions on a node, seven methods in all. BOOTSTRAP belongs to no
 * service: it runs for every registered automator, any number of times, and must not interfere with the
 * others.
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
