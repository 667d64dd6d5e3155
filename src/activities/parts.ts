import type { Json, JsonObject } from '../model/json.js';
import type { PeersPage, PeersRequest } from '../model/messages.js';
import type { Claims, PluginLog, Shell } from '../plugins/contract.js';
import type { Registry } from '../plugins/registry.js';

/** What activities are made of; `worker.ts` puts it together. */
export interface ActivityParts {
  readonly registry: Registry;
  /** Provider accounts of this worker's configuration, by name. */
  readonly providers: Readonly<Record<string, ProviderAccount>>;
  readonly nodes: NodeAccess;
  readonly logs: LogStore;
  readonly log: WorkerLog;
  readonly inFlight: InFlight;
  /** Replaces secret references by their values, and says which values are secret. */
  readonly resolveSecrets: (value: Json, place: string) => Promise<ResolvedSecrets>;
  readonly redact: (secrets: readonly string[]) => Redactor;
  /** Asks the workflow that knows the peers. */
  readonly askPeers: (workflowId: string, request: PeersRequest) => Promise<PeersPage>;
  /** UUID of the Temporal namespace: what tells our machines from other installations'. */
  readonly installation: string;
  /** For providers whose machines carry no tags: who has which machine of an account. */
  readonly claims: (provider: string) => Claims;
}

/** A provider account as the configuration names it. */
export interface ProviderAccount {
  readonly type: string;
  readonly site: string;
  /** The administrator's fields; secrets are references. */
  readonly fields: JsonObject;
  /** Our words for sizes and images, and the provider's own. */
  readonly hardware?: Readonly<Record<string, string>>;
  readonly images?: Readonly<Record<string, string>>;
}

export interface ResolvedSecrets {
  readonly value: Json;
  readonly secrets: readonly string[];
}

export interface Redactor {
  redact(text: string): string;
  /** Redacts a stream of chunks; what may be the start of a secret is kept back until `end`. */
  stream(): { push(chunk: Uint8Array): Uint8Array; end(): Uint8Array };
}

/** How to reach a node; secrets are resolved. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password?: string;
  /** Private key, PEM. */
  readonly key?: string;
  /** Socket of an SSH agent on the worker. */
  readonly agent?: string;
  readonly hostKey?: string | readonly string[];
}

export interface NodeAccess {
  /** Connects and logs in; gives the host key that answered, and refuses any but the expected one. */
  probe(address: NodeAddress, signal: AbortSignal): Promise<{ readonly hostKey: string }>;
  shell(address: NodeAddress, options: ShellOptions): Shell;
}

export interface ShellOptions {
  readonly runId: string;
  /** Aborted on cancellation: what runs on the node is ended. */
  readonly signal: AbortSignal;
  /** Aborted when this attempt must let go while the script goes on: the next attempt attaches to it. */
  readonly detach: AbortSignal;
  readonly onOutput: (stream: 'stdout' | 'stderr', chunk: Buffer) => void | Promise<void>;
  readonly log: PluginLog;
  /** Limit of scripts that have none of their own, in ms. */
  readonly timeoutMs?: number;
}

/** Where the logs of tasks are kept. */
export interface LogStore {
  append(name: string, chunk: Uint8Array): Promise<void>;
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
  /** What it is at, and the async stack at the point where it began that. */
  readonly at: () => { readonly step: string; readonly since: number; readonly stack: string };
}
