import type { MachineAction } from './machine/actions.js';

/**
 * Every action a task of a cluster's node can carry out. The names are activity types and appear so in the
 * Web UI.
 */
export const actions = [
  'CREATE',
  'CONFIRM',
  'BOOTSTRAP',
  'INSTALL',
  'CONFIGURE',
  'INITIALIZE',
  'START',
  'STOP',
  'REMOVE',
  'DELETE',
  'EXEC',
] as const;
export type Action = (typeof actions)[number];

/** These, and what is done with a machine that is there. */
export type AnyAction = Action | MachineAction;

/** Actions that a service declares, each carried out by the automator that the service's action names. */
export const serviceActions = ['INSTALL', 'CONFIGURE', 'INITIALIZE', 'START', 'STOP', 'REMOVE'] as const;
export type ServiceAction = (typeof serviceActions)[number];

/** The keys under `services.<name>.actions` in a spec, and the action each stands for. */
export const serviceActionKeys = {
  install: 'INSTALL',
  configure: 'CONFIGURE',
  initialize: 'INITIALIZE',
  start: 'START',
  stop: 'STOP',
  remove: 'REMOVE',
} as const satisfies Record<string, ServiceAction>;
export type ServiceActionKey = keyof typeof serviceActionKeys;

export interface ActionRow {
  /** Which kind of plugin carries it out. */
  readonly target: 'provider' | 'automator';
  /** `provider`: the rate-limited queue of the provider account; `site`: the queue of the node's site. */
  readonly queue: 'provider' | 'site';
  /** Longest one attempt may take, in ms. A service action may set its own. */
  readonly attemptMs: number;
  /** Longest silence of a running attempt, in ms; a false alarm only attaches again. */
  readonly heartbeatMs: number;
  /** Longest time over all attempts, in ms; absent: no limit. */
  readonly budgetMs?: number;
  readonly retry: RetryRow;
}

/** What follows on failures that may pass; the wait doubles with each attempt. */
export interface RetryRow {
  readonly initialMs: number;
  readonly maximumMs: number;
  /** Attempts after which a failure is final; absent: no limit. */
  readonly attempts?: number;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

const provider = { target: 'provider', heartbeatMs: 5 * second } as const;
const service = {
  target: 'automator',
  queue: 'site',
  attemptMs: hour,
  heartbeatMs: 5 * second,
  // Only the connection is tried again: a script that ran is never started a second time by a retry.
  retry: { initialMs: second, maximumMs: 15 * second, attempts: 40 },
} as const;

export const actionTable: Readonly<Record<Action, ActionRow>> = {
  CREATE: {
    ...provider,
    queue: 'provider',
    attemptMs: 5 * minute,
    budgetMs: 30 * minute,
    retry: { initialMs: second, maximumMs: 30 * second },
  },
  // One look per attempt; waiting between looks costs neither history nor a slot.
  CONFIRM: {
    ...provider,
    queue: 'site',
    attemptMs: minute,
    budgetMs: 10 * minute,
    retry: { initialMs: 100, maximumMs: 10 * second },
  },
  BOOTSTRAP: service,
  INSTALL: service,
  CONFIGURE: service,
  INITIALIZE: service,
  START: service,
  STOP: service,
  REMOVE: service,
  DELETE: {
    ...provider,
    queue: 'provider',
    attemptMs: 5 * minute,
    budgetMs: hour,
    retry: { initialMs: second, maximumMs: 30 * second },
  },
  // A user's command; like a script it is never started a second time by a retry.
  EXEC: service,
};
