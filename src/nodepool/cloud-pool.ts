import type { JsonObject } from '../model/json.js';
import { warningAt, type Path, type Problem } from '../schema/problem.js';
import { labelOmitted, leftOut, remarkUnread } from './remarks.js';
import { limitsOf, timesOf } from './simulated-pool.js';
import type { Taking } from './taking.js';
import type { CloudDriver, NodepoolOffer, NodepoolPool, NodepoolProvider } from './written.js';

/** Fields that an account must allow before pools may set them. */
const listed = ['networks', 'securityGroups', 'subnets', 'instanceProfile'] as const;
const volumeTypes: readonly unknown[] = ['gp3', 'gp2', 'io1', 'io2', 'st1', 'sc1', 'standard'];
/** Nodepool's default, in GB. */
const defaultVolumeSize = 50;

/** The account of a provider, without credentials, which Nodepool reads from other files. */
export function importCloudAccount(
  taking: Taking,
  driver: CloudDriver,
  provider: NodepoolProvider,
  path: Path,
): readonly Problem[] {
  const { cloud, 'region-name': region } = provider;
  taking.accounts[taking.providerAccounts.of(provider.name)] = {
    type: driver,
    fields: region === undefined ? {} : { region },
  };
  const [from, wanted] =
    driver === 'openstack'
      ? [
          `cloud ${cloud ?? provider.name} of clouds.yaml`,
          'authUrl and an application credential, or username, password and project',
        ]
      : [
          "the launcher's environment or profile",
          'accessKeyId and secretAccessKey, or nothing on a worker with a role',
        ];
  return [
    warningAt(
      path,
      `takes its credentials from ${from}, and the login settings of its nodes from Zuul`,
      `Set ${wanted}, and privateKey or publicKeys, in the account.`,
    ),
  ];
}

/** A provider pool of a cloud. Its fields are set in each label, because pools of one account may differ. */
export function importCloudPool(
  taking: Taking,
  driver: CloudDriver,
  provider: NodepoolProvider,
  pool: NodepoolPool,
  { name, priority, path }: { readonly name: string; readonly priority: number; readonly path: Path },
): readonly Problem[] {
  const account = taking.providerAccounts.of(provider.name);
  const { confirmWithin, launchAttempts } = timesOf(provider);
  const remarks: Problem[] = [];
  const labels: Record<string, JsonObject> = {};
  for (const [index, offer] of (pool.labels ?? []).entries()) {
    const at = [...path, 'labels', index];
    remarks.push(...remarkUnread('offer', offer, at, driver));
    if (!taking.declares(offer.name)) {
      remarks.push(labelOmitted(offer.name, at));
      continue;
    }
    const hardware = hardwareOf(offer, { driver, account, at, remarks });
    const fields = {
      ...(driver === 'openstack' ? openstackFields(provider, pool, offer) : awsFields(pool, offer)),
      ...loginOf(taking, provider, offer),
      ...userDataOf(offer, at, remarks),
    };
    labels[taking.serve(offer.name)] = {
      hardware,
      ...imageOf(taking, provider, offer, { hardware, account, at, remarks }),
      ...(Object.keys(fields).length === 0 ? {} : { fields }),
      confirmWithin,
    };
    allow(taking, account, fields);
  }
  if (Object.keys(labels).length === 0) return remarks;
  taking.pools[taking.providerPools.another(name)] = {
    provider: account,
    priority,
    limits: limitsOf(pool),
    launchAttempts,
    ...(pool['ignore-provider-quota'] === true ? { ignoreQuota: true } : {}),
    ...(pool['node-attributes'] == null ? {} : { attributes: pool['node-attributes'] as JsonObject }),
    labels,
  };
  return remarks;
}

function hardwareOf(
  offer: NodepoolOffer,
  { driver, account, at, remarks }: Omit<Place, 'hardware'> & { readonly driver: CloudDriver },
): string {
  const {
    'flavor-name': flavor,
    'min-ram': memory = 0,
    'instance-type': type = offer.fleet?.['instance-types'][0],
  } = offer;
  if (offer.fleet !== undefined)
    remarks.push(
      warningAt(
        [...at, 'fleet'],
        `is imported as instances of its first type, ${type}`,
        'Set another hardware if required.',
      ),
    );
  if (driver === 'openstack' && memory > 0) {
    // Each choice needs its own name, or labels would share a flavor.
    const word = flavor === undefined ? `ram-${memory}` : `${flavor} ram-${memory}`;
    const named = flavor === undefined ? '' : ` whose name contains "${flavor}"`;
    remarks.push(
      warningAt(
        [...at, 'min-ram'],
        `selects the first flavor with ${memory} MiB of memory or more${named}, and is imported as hardware "${word}"`,
        `In heddle.yaml map it to a flavor: providers.${account}.hardware: {"${word}": FLAVOR}.`,
      ),
    );
    return word;
  }
  if (memory > 0) remarks.push(leftOut([...at, 'min-ram'], 'The instance type determines the memory.'));
  const hardware = type ?? flavor;
  if (hardware === undefined)
    remarks.push(warningAt(at, 'has no flavor', 'Map default to a flavor under hardware of the account.'));
  return hardware ?? 'default';
}

interface Place {
  readonly hardware: string;
  readonly account: string;
  readonly at: Path;
  readonly remarks: Problem[];
}

function imageOf(
  taking: Taking,
  provider: NodepoolProvider,
  offer: NodepoolOffer,
  { hardware, account, at, remarks }: Place,
): JsonObject {
  const { diskimage, 'cloud-image': cloudImage } = offer;
  if (diskimage !== undefined)
    return {
      libraryImage: taking.useImage(diskimage, { account, hardware, format: imageFormatOf(provider) }),
    };
  if (cloudImage === undefined) return {};
  const image = provider['cloud-images']?.find(({ name }) => name === cloudImage);
  const named = image?.['image-id'] ?? image?.['image-name'];
  if (named === undefined && image?.['image-filters'] !== undefined)
    remarks.push(
      warningAt(
        [...at, 'cloud-image'],
        `${cloudImage} is selected by image-filters`,
        `Map ${cloudImage} to an image under images of the account.`,
      ),
    );
  return { image: named ?? cloudImage };
}

/** The login settings of the image. */
function loginOf(taking: Taking, provider: NodepoolProvider, offer: NodepoolOffer): JsonObject {
  const { diskimage } = offer;
  const cloudImage = provider['cloud-images']?.find(({ name }) => name === offer['cloud-image']);
  const upload = provider.diskimages?.find(({ name }) => name === diskimage);
  return given({
    sshPort: (cloudImage ?? upload)?.['connection-port'],
    user: cloudImage?.username ?? (diskimage === undefined ? undefined : taking.userOf(diskimage)),
    keyName: offer['key-name'],
  });
}

function openstackFields(provider: NodepoolProvider, pool: NodepoolPool, offer: NodepoolOffer): JsonObject {
  const image = [...(provider['cloud-images'] ?? []), ...(provider.diskimages ?? [])].find(
    ({ name }) => name === (offer['cloud-image'] ?? offer.diskimage),
  );
  return given({
    networks: offer.networks ?? pool.networks ?? undefined,
    securityGroups: pool['security-groups'] ?? undefined,
    zones: pool['availability-zones'] ?? undefined,
    configDrive: image?.['config-drive'],
    rootVolumeGb:
      offer['boot-from-volume'] === true ? (offer['volume-size'] ?? defaultVolumeSize) : undefined,
  });
}

function awsFields(pool: NodepoolPool, offer: NodepoolOffer): JsonObject {
  const { 'subnet-id': subnet, 'security-group-id': group, 'availability-zone': zone } = pool;
  const profile = offer['iam-instance-profile'];
  const isPublic = pool['public-ip-address'] ?? pool['public-ipv4'];
  const type = offer['volume-type'];
  return given({
    subnets: subnet == null ? undefined : [subnet],
    securityGroups: group == null ? undefined : [group],
    zones: zone === undefined ? undefined : [zone],
    publicAddress: isPublic,
    // Nodepool prefers the public address.
    reachBy: isPublic === false || pool['use-internal-ip'] === true ? 'private' : 'public',
    rootVolumeGb: offer['volume-size'],
    rootVolumeType: volumeTypes.includes(type) ? type : undefined,
    spot: offer['use-spot'],
    instanceProfile: profile?.name ?? profile?.arn?.split('/').at(-1),
  });
}

function userDataOf({ userdata }: NodepoolOffer, at: Path, remarks: Problem[]): JsonObject {
  if (userdata === undefined) return {};
  if (/^#(cloud-config|!)/.test(userdata)) return { userData: userdata };
  remarks.push(
    warningAt(
      [...at, 'userdata'],
      'is neither #cloud-config nor a script, and is omitted',
      'Begin it with #cloud-config or #!.',
    ),
  );
  return {};
}

/** Adds values that the pool sets to the account's `allow`. */
function allow(taking: Taking, account: string, fields: JsonObject): void {
  const before = taking.accounts[account] ?? {};
  const allowed: Record<string, JsonObject[string]> = { ...(before['allow'] as JsonObject | undefined) };
  for (const field of listed) {
    const value = fields[field];
    if (value === undefined) continue;
    const values = Array.isArray(value) ? value : [value];
    const known = allowed[field];
    allowed[field] = [...new Set([...(Array.isArray(known) ? known : []), ...values])];
  }
  if (Object.keys(allowed).length > 0) taking.accounts[account] = { ...before, allow: allowed };
}

function given(fields: Readonly<Record<string, JsonObject[string] | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, value]) =>
      value === undefined || (Array.isArray(value) && value.length === 0) ? [] : [[key, value]],
    ),
  );
}

/** The format of the image files that the provider accepts. */
export function imageFormatOf({ driver, 'image-format': format }: NodepoolProvider): string {
  return format ?? (driver === 'aws' ? 'raw' : 'qcow2');
}
