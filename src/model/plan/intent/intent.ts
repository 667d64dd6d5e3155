/**
 * The intent of an operation, besides the spec. `apply` and `rollback` bring the cluster to a spec; `delete`
 * removes it; the others leave nodes and spec unchanged and touch only what they name.
 */
export type Intent =
  | ApplyIntent
  | RollbackIntent
  | DeleteIntent
  | SwitchIntent
  | RestartIntent
  | ReconfigureIntent
  | ReplaceIntent
  | ExecIntent;

/**
 * At most `width` nodes of a service are disturbed at once, and the service as a whole stays up; absent: all
 * together.
 */
interface Rolling {
  readonly width?: number;
}

/**
 * Limited by `nodes` or `services`, it brings only those to the spec; the rest is left to the next apply. With
 * both, only these services on these nodes.
 */
export interface ApplyIntent extends Rolling {
  readonly kind: 'apply';
  /** Ids of nodes of the spec or of the cluster; absent: all. */
  readonly nodes?: readonly string[];
  /** Absent: all. */
  readonly services?: readonly string[];
}

interface RollbackIntent extends Rolling {
  readonly kind: 'rollback';
}

interface DeleteIntent {
  readonly kind: 'delete';
}

/**
 * `stop` stops the services and everything that needs them at run time, and they stay stopped, also through
 * later applies, until `start`, which starts what they need, too.
 */
export interface SwitchIntent {
  readonly kind: 'start' | 'stop';
  /** Empty: all that have such an action. */
  readonly services: readonly string[];
}

/** Stops and starts the services with what depends on them; rolling, the services alone. */
export interface RestartIntent extends Rolling {
  readonly kind: 'restart';
  /** Empty: all that have a START. */
  readonly services: readonly string[];
  /** Ids of nodes; absent: all that have the services. */
  readonly nodes?: readonly string[];
}

export interface ReconfigureIntent extends Rolling {
  readonly kind: 'reconfigure';
  /** Empty: all that have a CONFIGURE. */
  readonly services: readonly string[];
  readonly nodes?: readonly string[];
  /** STOP before CONFIGURE, START after it. */
  readonly restart?: true;
}

/**
 * The nodes get new machines: a new incarnation each. Which nodes those are is in their facts (`toReplace`).
 */
interface ReplaceIntent extends Rolling {
  readonly kind: 'replace';
  readonly nodes: readonly string[];
}

/** Runs a command once on each node. */
export interface ExecIntent extends Rolling {
  readonly kind: 'exec';
  /** Absent: all nodes. */
  readonly nodes?: readonly string[];
  /** Shell text; runs under /bin/sh as the login user, or as root with `sudo`. */
  readonly command: string;
  readonly sudo?: true;
  readonly timeoutMs?: number;
}

/** Failed nodes that an earlier operation went on without, and that one tries again; both absent: all. */
export interface Retried {
  readonly nodes?: readonly string[];
  /** Those that failed in these services. */
  readonly services?: readonly string[];
}

/** Undefined: none. Only what brings nodes to the file makes up for what failed. */
export function retriedBy(intent: Intent): Retried | undefined {
  switch (intent.kind) {
    case 'apply':
      return { nodes: intent.nodes, services: intent.services };
    case 'replace':
      return { nodes: intent.nodes };
    case 'rollback':
    case 'delete':
      return {};
    default:
      return undefined;
  }
}

/** Of all operations but apply and delete, which are requests of their own. */
export type OperateIntent = Exclude<Intent, { readonly kind: 'apply' | 'delete' }>;
