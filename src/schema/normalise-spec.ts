import { serviceActionKeys, type ServiceActionKey } from '../model/action.js';
import type { ClusterSpec, GroupSpec, Needs, PeersChange, PlacementChoice, RepairSpec, ServiceActionSpec, ServiceSpec } from '../model/spec.js';
import { parseDuration } from './duration.js';
import { normaliseCheck } from './health.js';
import type { WrittenAction, WrittenGroup, WrittenService, WrittenSpec } from './spec.js';

/** What hardware and image are called where nobody named them. */
export const defaultName = 'default';

/** Writes out defaults and short forms. Pure; the spec's meaning is checked by `checkSpec`. */
export function normaliseSpec(written: WrittenSpec): ClusterSpec {
  return {
    name: written.name,
    config: written.config,
    groups: mapEntries(written.nodes, normaliseGroup),
    services: mapEntries(written.services, normaliseService),
    onFailure: written.onFailure,
    repair: normaliseRepair(written.repair),
  };
}

function normaliseRepair({ every, ...repair }: WrittenSpec['repair']): RepairSpec {
  return { ...repair, ...present('everyMs', milliseconds(every)) };
}

function normaliseGroup(group: WrittenGroup): GroupSpec {
  return {
    count: group.count,
    ...present('minimum', group.minimum),
    provider: group.provider,
    hardware: group.hardware ?? defaultName,
    image: group.image ?? defaultName,
    services: group.services,
    fields: group.fields ?? {},
    ...present('confirmWithinMs', milliseconds(group.confirmWithin)),
    ...present('alternatives', group.alternatives?.map(normaliseChoice)),
  };
}

function normaliseChoice(choice: NonNullable<WrittenGroup['alternatives']>[number]): PlacementChoice {
  return {
    provider: choice.provider,
    ...present('hardware', choice.hardware), ...present('image', choice.image), ...present('fields', choice.fields),
  };
}

function normaliseService(service: WrittenService): ServiceSpec {
  const actions = Object.fromEntries(actionKeys.flatMap((key) => {
    const action = service.actions[key];
    return action === undefined ? [] : [[key, normaliseAction(action)]];
  }));
  return {
    provides: service.provides,
    conflicts: service.conflicts,
    install: mergeNeeds(service.requires, service.install),
    runtime: mergeNeeds(service.requires, service.runtime),
    peers: service.peers,
    onPeersChange: service.onPeersChange ?? defaultPeersChange(service),
    actions,
    ...present('check', service.check === undefined ? undefined : normaliseCheck(service.check)),
  };
}

const actionKeys = Object.keys(serviceActionKeys) as readonly ServiceActionKey[];

function defaultPeersChange(service: WrittenService): PeersChange {
  return service.actions.configure === undefined ? 'nothing' : 'configure';
}

function mergeNeeds(requires: readonly string[], needs: Needs): Needs {
  return { requires: [...new Set([...requires, ...needs.requires])], uses: [...new Set(needs.uses)] };
}

function normaliseAction(action: WrittenAction): ServiceActionSpec {
  return {
    type: action.type,
    fields: action.fields,
    ...present('attempts', action.attempts === 1 ? undefined : action.attempts),
    ...present('backoffMs', milliseconds(action.backoff)),
    ...present('timeoutMs', milliseconds(action.timeout)),
    ...present('permanentExitCodes', action.permanentExitCodes),
  };
}

function milliseconds(written: string | number | undefined): number | undefined {
  return written === undefined ? undefined : parseDuration(written);
}

function present<Key extends string, Value>(key: Key, value: Value | undefined): { readonly [K in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [K in Key]?: Value };
}

function mapEntries<From, To>(record: Readonly<Record<string, From>>, change: (from: From) => To): Readonly<Record<string, To>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
