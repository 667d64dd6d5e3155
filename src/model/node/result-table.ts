import type { AnyAction } from '../action.js';
import type { JsonObject } from '../json.js';

/**
 * Keys of a payload that name a machine or say how to reach it. Other `ssh-*` keys are refused altogether.
 */
export const identityKeys = [
  'providerid',
  'hostname',
  'ipaddress',
  'ssh-port',
  'ssh-host-key',
  'ssh-auth',
  'pool',
] as const;
export type IdentityKey = (typeof identityKeys)[number];

/** Keys of `config` that Heddle writes itself; no result may hold them. */
export const reservedKeys = [
  'flavor',
  'image',
  'nodenum',
  'group',
  'services',
  'provider',
  'service',
  'cluster',
  'nodes',
  'boot-id',
] as const;

/**
 * Identity keys that the result of an action may contain. An action without a row may return none: a node or
 * an automator can never name another machine, nor send a login to another address.
 */
export const resultTable: Readonly<Partial<Record<AnyAction, readonly IdentityKey[]>>> = {
  CREATE: ['providerid', 'hostname', 'ipaddress', 'ssh-port', 'ssh-host-key', 'ssh-auth'],
  // REACH of a machine is a CONFIRM, too.
  CONFIRM: ['providerid', 'hostname', 'ipaddress', 'ssh-port', 'ssh-host-key', 'ssh-auth', 'pool'],
};

/** What a failed task may still leave in the payload: enough to find the machine again. */
const keptAfterFailure: ReadonlySet<string> = new Set([
  'providerid',
  'ipaddress',
  'ssh-port',
  'ssh-host-key',
] satisfies IdentityKey[]);

/** Keys of a result that are not the plugin's to set. `null`, which deletes a key, counts as setting it. */
export function reservedKeysIn(result: JsonObject): readonly string[] {
  return reservedKeys.filter((key) => Object.hasOwn(result, key));
}

/** Keys of a result that name or reach the machine, and that this action may not return. */
export function refusedIdentityKeys(action: AnyAction, result: JsonObject): readonly string[] {
  const allowed: readonly string[] = resultTable[action] ?? [];
  return Object.keys(result).filter((key) => isIdentityKey(key) && !allowed.includes(key));
}

/** Of a failed task's result only what names the machine. */
export function machinePartOf(result: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(result).filter(([key]) => keptAfterFailure.has(key)));
}

function isIdentityKey(key: string): boolean {
  return key.startsWith('ssh-') || identityKeys.some((known) => known === key);
}
