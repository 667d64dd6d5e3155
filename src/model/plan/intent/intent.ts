import { commandText } from '../../argument-shapes.js';
import {
  count,
  list,
  nullable,
  optional,
  record,
  text,
  variants,
  yes,
  type Fields,
  type ValueOf,
} from '../../shape.js';

const maxNames = 10_000;
/** Groups whose count one request changes. */
const maxScaled = 500;
const names = list(text(200), maxNames);
const someNames = optional(list(text(200), maxNames, 1));

/**
 * At most so many nodes of a service are disturbed at once, and the service as a whole stays up; absent: all
 * together.
 */
const width = optional(count(Number.MAX_SAFE_INTEGER, 1));

/** Ids of nodes, and services; absent: all. With both, only these services on these nodes. */
export const applyLimits = { width, nodes: someNames, services: someNames };

/**
 * The intents of operations, besides the spec. `apply`, `rollback` and `scale` bring the cluster to a spec;
 * `delete` removes it; the others leave nodes and spec unchanged and touch only what they name.
 */
const intents = {
  /** Limited, it brings only a part to the spec; the rest is left to the next apply. */
  apply: applyLimits,
  /** To the previous spec, or to a revision. */
  rollback: { width, revision: optional(count(Number.MAX_SAFE_INTEGER, 1)) },
  /** Sets counts of groups that take the place of those in the file; null: the count of the file again. */
  scale: { width, counts: record(nullable(count(1_000_000_000)), maxScaled) },
  delete: {},
  /** Starts what the services need, too. `services`, here and below: empty for all that have the action. */
  start: { services: names },
  /**
   * With everything that needs the services at run time; they stay stopped, also through later applies, until
   * `start`.
   */
  stop: { services: names },
  /** Stops and starts the services with what depends on them; rolling, the services alone. */
  restart: { width, services: names, nodes: someNames },
  reconfigure: {
    width,
    services: names,
    nodes: someNames,
    /** STOP before CONFIGURE, START after it. */
    restart: optional(yes),
  },
  /**
   * The nodes get new machines: a new incarnation each. Which nodes those are is in their facts
   * (`toReplace`).
   */
  replace: { width, nodes: list(text(200), maxNames, 1) },
  /** Runs a command once on each node. */
  exec: {
    width,
    nodes: someNames,
    /** Runs under /bin/sh as the login user, or as root with `sudo`. */
    command: commandText(),
    sudo: optional(yes),
    timeoutMs: optional(count(30 * 86_400_000, 1)),
  },
} satisfies Readonly<Record<string, Fields>>;

/** The others are requests of their own. */
const { apply: _apply, delete: _delete, ...operated } = intents;

export const anyIntent = variants('kind', intents);
export const operateIntent = variants('kind', operated);

export type Intent = ValueOf<typeof anyIntent>;
export type OperateIntent = ValueOf<typeof operateIntent>;
export type OperationKind = Intent['kind'];
export type IntentOf<Kind extends OperationKind> = Extract<Intent, { readonly kind: Kind }>;

export const operationKinds = Object.keys(intents) as readonly OperationKind[];

/** Failed nodes that an earlier operation went on without, and that one tries again; both absent: all. */
export interface Retried {
  readonly nodes?: readonly string[];
  /** Those that failed in these services. */
  readonly services?: readonly string[];
}

/** The operation brings all nodes to the spec, or those that it is limited to. */
export function bringsToSpec(kind: OperationKind | undefined): boolean {
  return kind === 'apply' || kind === 'rollback' || kind === 'scale';
}

interface Rule<Of> {
  /** What follows the kind in a sentence. */
  readonly object?: (intent: Of) => string;
  /** Only what brings nodes to the file makes up for what failed. */
  readonly retries?: (intent: Of) => Retried;
  /** Ids of the nodes that it brings up, undefined for all; by default none. */
  readonly bringsUp?: (intent: Of) => readonly string[] | undefined;
}

const rules: { readonly [Kind in OperationKind]: Rule<IntentOf<Kind>> } = {
  apply: {
    object: ({ nodes, services }) => `${services === undefined ? '' : ` ${services.join(', ')}`}${on(nodes)}`,
    retries: ({ nodes, services }) => ({ nodes, services }),
    bringsUp: ({ nodes }) => nodes,
  },
  rollback: {
    object: ({ revision }) => (revision === undefined ? '' : ` to revision ${revision}`),
    retries: () => ({}),
    bringsUp: () => undefined,
  },
  scale: {
    object: ({ counts }) =>
      ` ${Object.entries(counts)
        .map(([group, wanted]) => `${group}=${wanted ?? 'file'}`)
        .join(', ')}`,
    retries: () => ({}),
    bringsUp: () => undefined,
  },
  delete: { retries: () => ({}) },
  start: { object: ({ services }) => ` ${services.join(', ')}` },
  stop: { object: ({ services }) => ` ${services.join(', ')}` },
  restart: { object: ({ services, nodes }) => ` ${services.join(', ')}${on(nodes)}` },
  reconfigure: {
    object: ({ services, nodes, restart }) =>
      `${services.length === 0 ? '' : ` ${services.join(', ')}`}${on(nodes)}${restart === true ? ' with restart' : ''}`,
  },
  replace: {
    object: ({ nodes }) => ` ${nodes.join(', ')}`,
    retries: ({ nodes }) => ({ nodes }),
    bringsUp: ({ nodes }) => nodes,
  },
  exec: { object: ({ nodes, command }) => `${on(nodes)}: ${command}` },
};

function ruleOf(kind: OperationKind): Rule<Intent> {
  return rules[kind] as Rule<Intent>;
}

/** An intent in words: "restart web on app-1, app-2, 1 at a time". */
export function describeIntent(intent: Intent): string {
  const object = ruleOf(intent.kind).object?.(intent) ?? '';
  const text = `${intent.kind}${object}${'width' in intent && intent.width !== undefined ? `, ${intent.width} at a time` : ''}`;
  return text.length > 200 ? `${text.slice(0, 197)}...` : text;
}

/** Undefined: none. */
export function retriedBy(intent: Intent): Retried | undefined {
  return ruleOf(intent.kind).retries?.(intent);
}

/** Ids of the nodes that an operation brings up; undefined: all. */
export function nodesBroughtUp(intent: Intent): readonly string[] | undefined {
  const { bringsUp } = ruleOf(intent.kind);
  return bringsUp === undefined ? [] : bringsUp(intent);
}

function on(nodes: readonly string[] | undefined): string {
  return nodes === undefined ? '' : ` on ${nodes.join(', ')}`;
}
