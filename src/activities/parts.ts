import type { Duplex } from 'node:stream';
import type { Json, JsonObject } from '../model/json.js';
import type { PeersPage, PeersRequest } from '../model/node/peers.js';
import type { ResolvedSecrets, SecretOrigin } from '../model/secret-reference.js';
import type { ProviderAccount } from '../model/provider-account.js';
import type { PinnedResource } from '../model/artifact/reference.js';
import type { Claims, NodeAddress, NodePools, PluginLog, Shell } from '../plugins/contract.js';
import type { Registry } from '../plugins/registry.js';
import type { Settings } from '../schema/config.js';
import type { BuilderParts } from './image/parts.js';
import type { Absences } from './provider/absence.js';
import type { RateLimiter } from './provider/rate-limiter.js';
import type { ClusterRecords } from './sweep/cluster-records.js';
import type { LastPass } from './sweep/last-pass.js';
import type { AttemptStep } from './step.js';

/** What activities are made of; `worker.ts` puts it together. */
export interface ActivityParts {
  readonly registry: Registry;
  /** Of heddle.yaml, without what plugins check. */
  readonly settings: Omit<Settings, 'providers' | 'automators'>;
  /** Provider accounts of this worker's configuration, by name. */
  readonly providers: Readonly<Record<string, ProviderAccount>>;
  /** The administrator's fields of automators, by their names; secrets are references. */
  readonly automators: Readonly<Record<string, { readonly fields: JsonObject }>>;
  readonly nodes: NodeAccess;
  readonly logs: LogStore;
  readonly log: WorkerLog;
  readonly inFlight: InFlight;
  /** Replaces secret references by their values, and says which values are secret. */
  readonly resolveSecrets: (value: Json, origin: SecretOrigin) => Promise<ResolvedSecrets>;
  /** Places of secret references in a value that cluster files may not use here. */
  readonly forbiddenReferences: (value: Json) => readonly (readonly (string | number)[])[];
  readonly redact: (secrets: readonly string[]) => Redactor;
  /** Asks the workflow that knows the peers. */
  readonly askPeers: (workflowId: string, request: PeersRequest) => Promise<PeersPage>;
  /** UUID of the Temporal namespace: distinguishes our machines from those of other installations. */
  readonly installation: string;
  /** For providers whose machines carry no tags: the owner of each machine of an account. */
  readonly claims: (provider: string) => Claims;
  /** Records of the programs that providers run on this host outside of the worker. */
  readonly runFolder: string;
  /** For machines that are nodes of pools. */
  readonly pools: NodePools;
  /** The exclusive right to call an account, for providers whose client bears one call at a time. */
  readonly locks: (provider: string) => Locks;
  /** For accounts whose calls are limited: when they may be called. */
  readonly rateLimiters: (provider: string) => RateLimiter | undefined;
  /** Counts a call of an account in the metrics. */
  readonly countCall: (call: CountedCall) => void;
  readonly resources: Resources;
  /** Machines that this process missed at their providers. */
  readonly absences: Absences;
  readonly runs: WorkflowRuns;
  /** The time by the server's clock, in ms since the epoch; undefined if the server does not show it. */
  readonly serverNow: () => number | undefined;
  readonly clusters: ClusterRecords;
  readonly lastPass: LastPass;
  /** Present where the worker is a builder. */
  readonly builder?: BuilderParts;
}

interface CountedCall {
  readonly account: string;
  /** `done`, or the kind of failure. */
  readonly result: string;
  readonly ms: number;
}

/** Locks to call one account, the same on all workers. */
export interface Locks {
  /** Waits up to `waitMs`; false: not yet. Requested again by its holder, it lasts another `leaseMs`. */
  take(request: {
    readonly holder: string;
    readonly leaseMs: number;
    readonly waitMs: number;
  }): Promise<boolean>;
  release(holder: string): Promise<void>;
}

/** Brings resources onto this worker. @throws PluginError */
export type Resources = (
  resource: PinnedResource,
  permissions?: number,
) => Promise<{ readonly path: string; readonly archive?: string }>;

/** What the Temporal server knows of the runs of workflows. */
export interface WorkflowRuns {
  /**
   * Ids of all runs of a workflow, as the server's index has them: what just happened may be missing.
   * Undefined where it has none.
   * @param since Only those that began later, in ms since the epoch.
   */
  list(workflowId: string, since?: number): Promise<readonly string[] | undefined>;
  /** The id of the client's start with which a run began; undefined if it began in another way. */
  startOf(workflowId: string, runId: string): Promise<string | undefined>;
  /**
   * Ids of the groups of a cluster that are running, as the server's index has them; none where it has none.
   */
  openGroups(clusterName: string): Promise<readonly string[]>;
  /**
   * The state of a workflow run; undefined if the server does not know it.
   * @param runId Default: the present run.
   */
  describe(workflowId: string, runId?: string): Promise<WorkflowRun | undefined>;
  /**
   * When a run, or the latest of those that it continues as new, began by a reset, in ms since the epoch;
   * undefined if none of the last hundred did. For a group, a reset of its cluster's present run counts as
   * well: after it, the cluster starts its groups once more. Remembered.
   * @param runId Default: the present run.
   */
  resetAt(workflowId: string, runId?: string): Promise<number | undefined>;
  /**
   * Records the details of a heartbeat at once, while the SDK sends heartbeats some seconds apart. False if
   * the attempt has ended for the server.
   */
  recordHeartbeat(task: TaskAttempt, details: Json): Promise<boolean>;
}

/** An attempt of an activity, as the server knows it. */
export interface TaskAttempt {
  readonly workflowId: string;
  readonly activityId: string;
  readonly token: Uint8Array;
}

export interface WorkflowRun {
  readonly runId: string;
  /** The first of the runs that continue each other, by continue-as-new or by a reset. */
  readonly firstRunId: string;
  /** As Temporal names it: `RUNNING`, `COMPLETED`, `TERMINATED`… */
  readonly status: string;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly startedAt: number;
  /** When the run began by a reset of another run. */
  readonly resetAt?: number;
  /** The cluster's uid, if its memo contains it. */
  readonly clusterUid?: string;
  /**
   * Activities that are scheduled or running, each with the number of its attempt under way or due next, and
   * what it reported last.
   */
  readonly pending: readonly {
    readonly activityId: string;
    readonly attempt: number;
    readonly heartbeat?: unknown;
  }[];
}

export interface Redactor {
  redact(text: string): string;
  /** Redacts a stream of chunks; what may be the start of a secret is kept back until `end`. */
  stream(): { push(chunk: Uint8Array): Uint8Array; end(): Uint8Array };
}

export type { NodeAddress } from '../plugins/contract.js';

export interface NodeAccess {
  /**
   * Connects and logs in; returns the host key and refuses any but the expected one. Another boot id means
   * that the machine was restarted; absent if unknown. `keepsConnection` leaves the connection to shells of
   * the node. With `acceptsOpen`, a connection that is open and answers keepalives is enough: it has survived
   * no restart.
   */
  probe(
    address: NodeAddress,
    signal: AbortSignal,
    options?: { readonly keepsConnection?: boolean; readonly acceptsOpen?: boolean },
  ): Promise<{ readonly hostKey: string; readonly bootId?: string }>;
  /** Whether it replies to an ICMP echo; undefined if that cannot be tried, such as behind a jump host. */
  ping(address: NodeAddress, signal: AbortSignal): Promise<boolean | undefined>;
  shell(address: NodeAddress, options: ShellOptions): Shell;
  /** A connection that the node itself makes. @throws PluginError when it cannot. */
  connect(
    address: NodeAddress,
    to: { readonly host: string; readonly port: number },
    signal: AbortSignal,
  ): Promise<Duplex>;
}

export interface ShellOptions {
  readonly runId: string;
  /** Aborted on cancellation: what runs on the node is ended. */
  readonly signal: AbortSignal;
  /** Aborted when this attempt must detach while the script continues: the next attempt attaches to it. */
  readonly detach: AbortSignal;
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => void | Promise<void>;
  readonly log: PluginLog;
  /** Limit of scripts that have none of their own, in ms. */
  readonly timeoutMs?: number;
  /**
   * Whose scripts run one at a time, and when this attempt was scheduled, by the server's clock: of two the
   * later one is wanted.
   */
  readonly fence: { readonly node: string; readonly time: number; readonly operation: string };
  /** Runs that were claimed on the node, as attempts of the task know them. */
  readonly claims: RunClaims;
}

export interface RunClaims {
  has(runId: string): boolean;
  add(runId: string): void;
}

/** Where the logs of tasks are kept. */
export interface LogStore {
  /** Returns `full` when the log accepts no more. */
  append(name: string, chunk: Uint8Array): Promise<'full' | void>;
  /** No line follows for now, and people may read the log. */
  flush(name: string): void;
}

export interface WorkerLog {
  debug(attributes: object, message: string): void;
  info(attributes: object, message: string): void;
  warn(attributes: object, message: string): void;
  error(attributes: object, message: string): void;
}

/** The attempts that this process is carrying out, for the stack dump. */
export interface InFlight {
  add(attempt: AttemptView): () => void;
}

export interface AttemptView {
  readonly taskId: string;
  readonly title: string;
  readonly attempt: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly lastHeartbeat: () => number;
  readonly at: () => AttemptStep;
}
