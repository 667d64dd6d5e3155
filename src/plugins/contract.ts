import type { MachineInput } from './machine-input.js';
import type { Json, JsonObject } from '../model/json.js';
import type { Task, TaskResult } from '../model/node/task.js';
import type { Calls, Claims } from './account-services.js';
import type { NodeAddress } from './node-address.js';
import type { NodePools } from './node-pools.js';
import type { Shell } from './node-shell.js';
import { PluginError } from './errors.js';
import type { PluginLog } from './plugin-log.js';

export type { Calls, Claims, ClientAccount } from './account-services.js';
export type { NodeAddress } from './node-address.js';
export type { NodePools } from './node-pools.js';
export type { PluginLog } from './plugin-log.js';
export type { RunOutcome, Script, Shell } from './node-shell.js';
export type { Json, JsonObject } from '../model/json.js';
export type { Peer, Task, TaskResource, TaskResult } from '../model/node/task.js';
export {
  isPluginError,
  PluginError,
  failureKinds,
  type FailureKind,
  type PluginErrorOptions,
} from './errors.js';
export { requireKey } from './machine-key.js';
export { takeSteps, undoSteps, type Step } from './steps.js';
export type {
  BootTarget,
  CanBeReached,
  CanCapture,
  CanCheckImage,
  CanDeleteImage,
  CanDownloadImage,
  CanHear,
  CanListImages,
  CanLoad,
  CanPower,
  CanReset,
  CanRetrieve,
  CanSetBoot,
  CanShowImages,
  CanTaint,
  CanTellAssigned,
  CanUnload,
  CanUploadImage,
  CurrentReading,
  ImageFileInput,
  ImageInput,
  ImageRef,
  Knowledge,
  AccessInput,
  AccountsOutcome,
  CanGrantAccess,
  LibraryInput,
  LoadOutcome,
  MachineAbilities,
  Outcome,
  PowerReading,
  SizeReading,
  SystemInput,
  SystemPart,
  UploadedImage,
} from './machine-abilities.js';

/** What one attempt of one task has at hand. A plugin object lives for one attempt. */
export interface PluginContext {
  readonly task: Task;
  readonly log: PluginLog;
  /** Aborted when the task is cancelled, or when the call's deadline has passed. */
  readonly signal: AbortSignal;
  /**
   * Aborted when this attempt ends and another takes over, where the plugin runs in the worker: what was
   * begun to outlast the attempt is let go of, not ended. `signal` of a provider is aborted then, too.
   */
  readonly detach?: AbortSignal;
  /**
   * For providers the administrator's fields with the user's over them; for automators those that the
   * administrator gave under `automators` in heddle.yaml. Checked, defaults filled in, secrets resolved.
   */
  readonly fields: JsonObject;
  /** For providers whose machines carry no tags: who has which machine of this provider account. */
  readonly claims?: Claims;
  /** For providers: when the account may be called. */
  readonly calls?: Calls;
  /** For the provider whose machines are nodes of pools. */
  readonly pools?: NodePools;
  /** For automators that run in the worker: what attempts of one task tell each other. */
  readonly note?: AttemptNote;
  /** Of a class with a static `start`: what that gave for the account, started where it is not yet. */
  readonly client?: () => Promise<unknown>;
}

/**
 * A note that attempts of one task leave for later ones. The Temporal server keeps it, where no node can
 * change it.
 */
export interface AttemptNote {
  /** What an earlier attempt wrote last; undefined or null where none did. */
  readonly before: Json | undefined;
  /**
   * Resolves when the note is on record, and so outlives this worker; that may take seconds. At most a few
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
  /**
   * Names this machine for ever: `<clusterUid>/<nodeId>/<incarnation>`. The same key must never give two
   * machines.
   */
  readonly key: string;
  /** The key as a client token: 64 lower-case hexadecimal digits. */
  readonly token: string;
  /** To be put on the machine in the creating call itself; `list` and `find` look for them. */
  readonly tags: Readonly<Record<string, string>>;
}

/** A machine as its provider shows it. */
export interface Machine {
  readonly providerid: string;
  /** The key it was created with, where its tags tell. */
  readonly key?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly state: 'starting' | 'running' | 'stopped' | 'gone' | 'failed';
  /** When the provider says it was created, RFC 3339. */
  readonly createdAt?: string;
  /**
   * Where it has its `ipaddress` now, if the call that found it tells; the same address that CONFIRM leaves.
   * Another one than CONFIRM left means that the machine has moved.
   */
  readonly address?: string;
  /**
   * From `find` only: what CREATE returned for it. With this a machine is taken over whose CREATE nobody
   * heard the end of. Left out where the provider cannot tell all of it again, such as a password that it
   * shows once.
   */
  readonly created?: JsonObject;
}

async function clientOf<Client>(open: PluginContext['client']): Promise<Client> {
  if (open === undefined)
    throw new PluginError('Invalid', 'the class has no static start, which would open its client');
  return (await open()) as Client;
}

const unlimited: Calls = { take: () => Promise.resolve() };

/**
 * A provider gets, confirms and deletes machines. Three methods are required; `list`, `find`, `quota` are
 * abilities that may be there or not. Every call may happen twice and may be cut anywhere.
 */
export abstract class Provider {
  readonly task: Task;
  readonly log: PluginLog;
  readonly signal: AbortSignal;
  readonly fields: JsonObject;
  readonly calls: Calls;
  readonly #client: PluginContext['client'];

  constructor(context: PluginContext) {
    this.task = context.task;
    this.log = context.log;
    this.signal = context.signal;
    this.fields = context.fields;
    this.calls = context.calls ?? unlimited;
    this.#client = context.client;
  }

  /**
   * What the static `start` of the class gave for this account.
   * @throws PluginError when it could not start.
   */
  protected client<Client>(): Promise<Client> {
    return clientOf<Client>(this.#client);
  }

  /**
   * Asks for a machine and returns as soon as the request is accepted. Leaves `providerid`, often
   * `ssh-auth.user`.
   */
  abstract create(input: CreateInput): Promise<TaskResult | void>;

  /**
   * Looks once whether the machine is ready; throws NotReady while it is not. Also called for machines in
   * service, to see whether they are as they were. Leaves `ipaddress`, and `ssh-port`,
   * `ssh-auth`, `ssh-host-key` where the provider knows them. The engine then checks that SSH answers there.
   */
  abstract confirm(input: MachineInput): Promise<TaskResult | void>;

  /**
   * Has the machine destroyed. Absence is success; returning means that its absence was seen, else it throws
   * NotReady. Of a provider with a `consistencyWindowMs` the engine asks again after that time, and believes
   * it when it is said twice.
   */
  abstract delete(input: MachineInput): Promise<TaskResult | void>;
}

/**
 * Ability: machines that carry all of the given tags, gone ones left out. One call shows a whole account: for
 * the leak sweep, for finding machines that are gone, stopped or moved, and those that an earlier life of a
 * cluster left. It may lag behind by the descriptor's `consistencyWindowMs`, no more. It is called outside of
 * tasks too: `this.task` then names no node.
 */
export interface CanList {
  list(tags: Readonly<Record<string, string>>): Promise<readonly Machine[]>;
}
/**
 * Ability: all machines made with this key (more than one means that something went wrong before). Called
 * where a list is in doubt, and to take over what an earlier CREATE made. None found is taken for absence
 * only when it is so twice, with `consistencyWindowMs` in between.
 */
export interface CanFind {
  find(key: string): Promise<readonly Machine[]>;
}

/**
 * What an account allows at most, and what of it is in use, by whomever: `nodes`, `cores`, `memory` in MiB,
 * or words of its own.
 */
export interface AccountQuota {
  readonly limits: Readonly<Record<string, number>>;
  readonly used: Readonly<Record<string, number>>;
}

/**
 * Ability: the account's own quota, for pools to stay within. Called outside of tasks: `this.task` names no
 * node.
 */
export interface CanQuota {
  quota(): Promise<AccountQuota>;
}

/** What an automator has at hand besides. */
export interface AutomatorParts {
  readonly shell: Shell;
  /**
   * The way to the node, for a tool on the worker that logs in by itself; absent in plugins that run as
   * programs.
   */
  readonly address?: NodeAddress;
  /** Longest time that the user gives this run, in ms; scripts keep it by themselves. */
  readonly timeoutMs?: number;
}

/**
 * An automator carries out a service's actions on a node, seven methods in all. BOOTSTRAP is not tied to a
 * service: it runs for every registered automator, any number of times, and must not interfere with the
 * others.
 */
export abstract class Automator {
  readonly task: Task;
  readonly log: PluginLog;
  readonly signal: AbortSignal;
  /** What the administrator gave for this automator. */
  readonly fields: JsonObject;
  /** The node of this task. */
  readonly shell: Shell;
  readonly #client: PluginContext['client'];

  constructor(context: PluginContext & AutomatorParts) {
    this.task = context.task;
    this.log = context.log;
    this.signal = context.signal;
    this.fields = context.fields;
    this.shell = context.shell;
    this.#client = context.client;
  }

  /** What the static `start` of the class gave. @throws PluginError when it could not start. */
  protected client<Client>(): Promise<Client> {
    return clientOf<Client>(this.#client);
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

export type { MachineInput } from './machine-input.js';
