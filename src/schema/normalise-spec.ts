import { serviceActionKeys, type ServiceActionKey } from '../model/action.js';
import type {
  ClusterSpec,
  GroupSpec,
  Needs,
  PeersChange,
  PlacementChoice,
  RepairSpec,
  ServiceActionSpec,
  ServiceSpec,
} from '../model/cluster/spec.js';
import { parseDuration } from './duration.js';
import { normaliseCheck } from './health.js';
import { normalisePlacement } from './placement.js';
import type { WrittenAction, WrittenGroup, WrittenService, WrittenSpec } from './spec.js';

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

/**
 * A request to a pool waits until it can be served, so nothing is gained by asking anew; where there is
 * another choice it is not waited for so long.
 */
const poolPatienceMs = 24 * 60 * 60_000;

function normaliseGroup(group: WrittenGroup): GroupSpec {
  const waitsLong = group.pool !== undefined && group.alternatives === undefined;
  return {
    count: group.count,
    ...present('minimum', group.minimum),
    ...normalisePlacement(group),
    services: group.services,
    ...present(
      'confirmWithinMs',
      milliseconds(group.confirmWithin) ?? (waitsLong ? poolPatienceMs : undefined),
    ),
    ...present(
      'alternatives',
      group.alternatives?.map((choice) => normaliseChoice(group, choice)),
    ),
  };
}

/** What is left out is as in the group; but a pool and an account have nothing in common that could be. */
function normaliseChoice(
  group: WrittenGroup,
  choice: NonNullable<WrittenGroup['alternatives']>[number],
): PlacementChoice {
  if (group.pool !== undefined || choice.pool !== undefined) return normalisePlacement(choice);
  const { provider = '', hardware, image, fields } = choice;
  return {
    provider,
    ...present('hardware', hardware),
    ...present('image', image),
    ...present('fields', fields),
  };
}

function normaliseService(service: WrittenService): ServiceSpec {
  const actions = Object.fromEntries(
    actionKeys.flatMap((key) => {
      const action = service.actions[key];
      return action === undefined ? [] : [[key, normaliseAction(action)]];
    }),
  );
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

function present<Key extends string, Value>(
  key: Key,
  value: Value | undefined,
): { readonly [K in Key]?: Value } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [K in Key]?: Value };
}

function mapEntries<From, To>(
  record: Readonly<Record<string, From>>,
  change: (from: From) => To,
): Readonly<Record<string, To>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
