import type { AnyAction } from '../action.js';
import type { Json, JsonObject } from '../json.js';

/** One action on one node, as a plugin sees it (DESIGN: task contract). */
export interface Task {
  /** `<clusterUid>/<nodeId>#<incarnation>/<service>/<ACTION>/<operation>`; `-` means no service. */
  readonly taskId: string;
  readonly taskName: AnyAction;
  /** The cluster's name. */
  readonly clusterId: string;
  readonly clusterUid: string;
  readonly nodeId: string;
  readonly incarnation: number;
  /** 1 for the first attempt of this task. */
  readonly attempt: number;
  /** The node's payload: everything earlier tasks of this node returned, and Heddle's own keys. */
  readonly config: JsonObject;
  /**
   * Nodes of the cluster by id: for an action of a service, those that its `peers` names (all of them, or its
   * own node for `none`), as new as the task; for other tasks, its own node and those this worker knows.
   */
  readonly nodes: Readonly<Record<string, Peer>>;
  /** The cluster's configuration, as the user wrote it. */
  readonly cluster: JsonObject;
  /**
   * The provider account the node comes from; fields are resolved (secrets included) for provider tasks only.
   */
  readonly provider: { readonly name: string; readonly type: string; readonly fields: JsonObject };
  /** Present for service tasks. */
  readonly service?: {
    readonly name: string;
    readonly action: {
      readonly type: string;
      readonly fields: JsonObject;
      /**
       * JSON Pointers into `fields` to what holds values of nodes, providers, other clusters or
       * secrets. A plugin that evaluates templates must not evaluate one there.
       */
      readonly literal?: readonly string[];
    };
  };
  /**
   * The resources among the action's fields, by field, as they lie on this worker. The field itself holds the
   * path.
   */
  readonly resources?: Readonly<Record<string, TaskResource>>;
}

/** A resource on the worker. It is shared by tasks, and not to be changed. */
export interface TaskResource {
  readonly resource: string;
  /** Of its content, `sha256:…`. */
  readonly digest: string;
  readonly format: 'file' | 'archive';
  /** The file, or the folder of what the archive holds. */
  readonly path: string;
  /** Of archives: the archive itself, an uncompressed tar. */
  readonly archive?: string;
}

/** What a node knows of another. Addresses are there from that node's CONFIRM on. */
export interface Peer {
  readonly hostname: string;
  readonly ipaddress?: string;
  readonly services: readonly string[];
  /** Counts from 1 in each cluster; never used again for another node of the same cluster. */
  readonly nodenum: number;
  readonly group: string;
  /**
   * Services whose INITIALIZE was begun on the node's present machine, or all services of an adopted
   * machine: it may hold their data, also if they do not run. Absent where a task sees its own node only.
   */
  readonly initialized?: readonly string[];
}

/** What a plugin gives back. Left-out status means success where a TypeScript method returned. */
export interface TaskResult {
  readonly status?: number;
  /** Merged into `config` of all later tasks of the node (RFC 7396). */
  readonly result?: Readonly<Record<string, Json>>;
  readonly stdout?: string;
  readonly stderr?: string;
}
