import { defaultRepair } from '../../../src/model/cluster/default-repair.js';
import { type ClusterSpec, type GroupSpec, type ServiceSpec } from '../../../src/model/cluster/spec.js';
import type { Json } from '../../../src/model/json.js';
import { stableJson } from '../../../src/model/node/payload.js';
import type { PreparingAutomator } from '../../../src/model/plan/facts/digest.js';
import type { PlannedPlacement } from '../../../src/model/node/placement.js';

const shell = (script: string) => ({ type: 'shell', fields: { script } });

/** Every action a service can declare but RELOAD, which changes what follows CONFIGURE. */
export const all = {
  install: shell('i'),
  configure: shell('c'),
  initialize: shell('n'),
  start: shell('s'),
  stop: shell('t'),
  remove: shell('r'),
};
/** The same and RELOAD. */
export const reloading = { ...all, reload: shell('l') };
export type ActionKey = keyof typeof all;

export function only(...keys: readonly ActionKey[]): ServiceSpec['actions'] {
  return Object.fromEntries(keys.map((key) => [key, all[key]]));
}

export function without(...keys: readonly ActionKey[]): ServiceSpec['actions'] {
  return only(...(Object.keys(all) as ActionKey[]).filter((key) => !keys.includes(key)));
}

/** The same actions with one script that is another. */
export function changed(key: ActionKey, script = 'another'): ServiceSpec['actions'] {
  return { ...all, [key]: shell(script) };
}

const none = { requires: [], uses: [] };

export function service(changes: Partial<ServiceSpec> = {}): ServiceSpec {
  return {
    provides: [],
    conflicts: [],
    install: none,
    runtime: none,
    peers: 'none',
    onPeersChange: 'nothing',
    actions: all,
    ...changes,
  };
}

export function needing(...names: readonly string[]): Pick<ServiceSpec, 'install' | 'runtime'> {
  return { ...toInstall(...names), ...toRun(...names) };
}

export function toInstall(...names: readonly string[]): Pick<ServiceSpec, 'install'> {
  return { install: { requires: names, uses: [] } };
}

export function toRun(...names: readonly string[]): Pick<ServiceSpec, 'runtime'> {
  return { runtime: { requires: names, uses: [] } };
}

export const reading = { peers: 'all', onPeersChange: 'configure' } as const;

export function group(count: number, ...services: readonly string[]): GroupSpec {
  return { count, services, provider: 'local', hardware: 'small', image: 'host', fields: {} };
}

export function spec(
  groups: Record<string, GroupSpec>,
  services: Record<string, ServiceSpec>,
  changes: Partial<ClusterSpec> = {},
): ClusterSpec {
  return {
    name: 'web',
    config: {},
    nodes: groups,
    services,
    onFailure: 'hold',
    repair: defaultRepair,
    ...changes,
  };
}

/** As workers have them: one that prepares every node, and one that prepares those with its services. */
export const automators = [
  { name: 'shell', prepares: 'all', digest: 's1' },
  { name: 'ansible', prepares: 'users', digest: 'a1' },
] as const satisfies readonly PreparingAutomator[];

export const digest = (value: Json): string => stableJson(value);

export function placementOf({ hardware, image }: GroupSpec): PlannedPlacement {
  return {
    provider: 'local',
    type: 'local',
    site: 'default',
    flavor: hardware,
    image,
    fields: {},
    digest: `${hardware} ${image}`,
  };
}
