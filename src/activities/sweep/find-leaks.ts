import { readMachineKey, tagNames } from '../../model/names.js';
import type {
  FindLeaksReply,
  FindLeaksRequest,
  Origin,
  Suspect,
  UnknownCluster,
} from '../../model/sweep/sweep.js';
import type { Machine, UploadedImage } from '../../plugins/contract.js';
import type { Attempt } from '../attempt.js';
import { viewAccount } from '../provider/account-view.js';
import type { ActivityParts } from '../parts.js';
import type { SharedLists } from '../provider/shared-lists.js';
import { findOwners, type Owner, type OwnMachine } from './find-owners.js';

/** Suspects per reply, so that it stays small. */
const namedSuspects = 300;
const namedUnknown = 1_000;

/**
 * The activity FIND_LEAKS: machines of one account that this installation made and that no cluster has. It
 * changes nothing.
 */
export async function findLeaks(
  parts: ActivityParts,
  lists: SharedLists,
  { provider, origins = [] }: FindLeaksRequest,
  attempt: Attempt,
): Promise<FindLeaksReply> {
  const view = await viewAccount(parts, lists, '-', provider, attempt);
  attempt.at(`lists the machines of ${provider.name}`);
  // Listed before owners are asked: a cluster records a machine before it creates it.
  // Its own list: one of a moment ago would show again what the pass before has deleted.
  const since = performance.now();
  const installations = [...new Set([parts.installation, ...origins.map((origin) => origin.installation)])];
  const listed = await listEach(installations, (installation) => view.list(since, installation));
  const uploaded = await listEach(installations, (installation) => view.images(installation));
  if (listed === undefined && uploaded === undefined)
    return {
      machines: 0,
      suspects: [],
      problems: [],
      unable: `provider type ${provider.type} cannot list its machines`,
    };
  // From the machine's own tags, whatever filter the provider was given.
  const ours = [...(listed ?? []), ...(uploaded ?? []).map(asMachine)].filter(
    (machine) =>
      machine.state !== 'gone' && (isTagged(machine, parts.installation) || isMoved(machine, origins)),
  );
  const readable = ours.filter((machine) => readMachineKey(keyOf(machine)) !== undefined);
  attempt.at(`looks up the owners of ${readable.length} machines of ${provider.name}`);
  const owners = await findOwners(parts.clusters, readable.map(toOwn));
  const unreadable = ours
    .filter((machine) => !readable.includes(machine))
    .map((machine) => suspect(machine, 'unreadable'));
  const suspects = [
    ...readable.flatMap((machine, index) => judge(readable, machine, owners[index])),
    ...unreadable,
  ];
  const more = suspects.length - namedSuspects;
  const silent = [
    ...new Set(owners.flatMap((owner) => (owner.is === 'unclear' ? [attempt.redact(owner.why)] : []))),
  ];
  return {
    machines: ours.length,
    suspects: suspects.slice(0, namedSuspects),
    problems: [],
    silent: silent.slice(0, 20),
    unknown: unknownAmong(suspects),
    ...(more > 0 ? { more } : {}),
  };
}

/** What the account has of each installation; undefined where the provider cannot list it. */
async function listEach<Listed>(
  installations: readonly string[],
  list: (installation: string) => Promise<readonly Listed[] | undefined>,
): Promise<readonly Listed[] | undefined> {
  const lists = await Promise.all(installations.map(list));
  return lists.every((one) => one === undefined) ? undefined : lists.flatMap((one) => one ?? []);
}

function isTagged({ tags }: Machine, installation: string): boolean {
  return tags[tagNames.installation] === installation;
}

/**
 * Whether it was made before its pool or image was moved here. What else is tagged so is
 * another installation's.
 */
function isMoved(machine: Machine, origins: readonly Origin[]): boolean {
  const uid = readMachineKey(keyOf(machine))?.clusterUid;
  return origins.some((origin) => origin.uid === uid && isTagged(machine, origin.installation));
}

function unknownAmong(suspects: readonly Suspect[]): readonly UnknownCluster[] {
  const found: Record<string, UnknownCluster> = {};
  for (const { kind, key, cluster } of suspects) {
    const uid = readMachineKey(key)?.clusterUid;
    if (kind !== 'unknown' || uid === undefined) continue;
    found[uid] = {
      uid,
      machines: (found[uid]?.machines ?? 0) + 1,
      ...(cluster === undefined ? {} : { cluster }),
    };
  }
  return Object.values(found).slice(0, namedUnknown);
}

interface Upload extends Machine {
  readonly isImage: true;
}

/** An image belongs to an image's workflow as a machine belongs to its creator. */
function asMachine({ providerImage, tags, createdAt }: UploadedImage): Upload {
  return { isImage: true, providerid: providerImage, tags, state: 'stopped', createdAt };
}

function isImage(machine: Machine): machine is Upload {
  return 'isImage' in machine;
}

function toOwn(machine: Machine): OwnMachine {
  const cluster = machine.tags[tagNames.cluster];
  return {
    key: keyOf(machine),
    providerid: machine.providerid,
    createdAt: machine.createdAt,
    ...(cluster === undefined || cluster === '' ? {} : { cluster }),
  };
}

function judge(all: readonly Machine[], machine: Machine, owner: Owner | undefined): readonly Suspect[] {
  // What a person had captured outlives its machine; listed if the result of the capture was lost.
  if (isImage(machine) && machine.tags[tagNames.captured] !== undefined)
    return owner?.is === 'orphan' && owner.cut === true ? [suspect(machine, 'captured')] : [];
  switch (owner?.is) {
    case 'orphan':
      return [suspect(machine, 'orphan')];
    case 'free':
      return [{ ...suspect(machine, 'lost'), askedOf: owner.askedOf }];
    case 'abandoned':
    case 'unknown': {
      const { is, askedOf } = owner;
      return [{ ...suspect(machine, is), ...(askedOf === undefined ? {} : { askedOf }) }];
    }
    case 'mine':
      return !isImage(machine) && isSecond(all, machine, owner.providerid)
        ? [suspect(machine, 'duplicate')]
        : [];
    default:
      return [];
  }
}

/**
 * The key finds a machine whose id has changed; it is a second one only when the one that the node knows is
 * there beside it.
 */
function isSecond(all: readonly Machine[], machine: Machine, providerid: string | undefined): boolean {
  return (
    providerid !== undefined &&
    machine.providerid !== providerid &&
    all.some((other) => other.providerid === providerid && keyOf(other) === keyOf(machine))
  );
}

function suspect(machine: Machine, kind: Suspect['kind']): Suspect {
  const { providerid, state, createdAt } = machine;
  const what = isImage(machine) ? { what: 'image' as const } : {};
  const { cluster } = toOwn(machine);
  return {
    kind,
    ...what,
    providerid,
    key: keyOf(machine),
    state,
    ...(cluster === undefined ? {} : { cluster }),
    ...(createdAt === undefined ? {} : { createdAt }),
  };
}

function keyOf(machine: Machine): string {
  return machine.key ?? machine.tags[tagNames.key] ?? '';
}
