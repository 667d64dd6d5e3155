import { actions } from './action.js';
import { machineActions } from './machine/actions.js';

/** Every action whose tasks have logs. */
export const loggedActions: readonly string[] = [...actions, ...machineActions];
