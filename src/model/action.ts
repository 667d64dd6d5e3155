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
  'RELOAD',
  'INITIALIZE',
  'START',
  'STOP',
  'REMOVE',
  'DELETE',
  'EXEC',
] as const;
export type Action = (typeof actions)[number];

/** Actions on nodes, and actions on existing machines. */
export type AnyAction = Action | MachineAction;

/** Actions that a service declares, each carried out by the automator that the service's action names. */
export const serviceActions = [
  'INSTALL',
  'CONFIGURE',
  'RELOAD',
  'INITIALIZE',
  'START',
  'STOP',
  'REMOVE',
] as const;
export type ServiceAction = (typeof serviceActions)[number];

/** The keys under `services.<name>.actions` in a spec, and their actions. */
export const serviceActionKeys = {
  install: 'INSTALL',
  configure: 'CONFIGURE',
  reload: 'RELOAD',
  initialize: 'INITIALIZE',
  start: 'START',
  stop: 'STOP',
  remove: 'REMOVE',
} as const satisfies Record<string, ServiceAction>;
