import { z } from 'zod';

/** Some files write numbers as texts. */
const number = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/, { error: 'Must be a number.' })
    .transform(Number),
]);
const name = z.union([z.string().min(1), z.number().transform(String)], { error: 'must be a name' });
const free = z.record(z.string(), z.unknown());

const labelSchema = z.looseObject({
  name: name,
  'min-ready': number.optional(),
  'max-ready-age': number.optional(),
});

const machineSchema = z.looseObject({
  name: name,
  labels: z.union([name.transform((one) => [one]), z.array(name)]),
  username: name.optional(),
  'connection-type': z.string().optional(),
  'connection-port': number.optional(),
  'host-key': z.union([z.string().transform((one) => [one]), z.array(z.string())]).optional(),
  'host-key-checking': z.boolean().optional(),
  'max-parallel-jobs': number.optional(),
});

const offerKeys = z.looseObject({
  name: name,
  'flavor-name': name.optional(),
  'min-ram': number.optional(),
  diskimage: name.optional(),
  'cloud-image': name.optional(),
});

const names = z.array(name).nullish();
const boolean = z.boolean().optional();

/** For the drivers openstack and aws. */
const offerSchema = offerKeys.extend({
  networks: names,
  'key-name': name.optional(),
  userdata: z.string().optional(),
  'boot-from-volume': boolean,
  'volume-size': number.optional(),
  'volume-type': name.optional(),
  'instance-type': name.optional(),
  fleet: z.looseObject({ 'instance-types': z.array(name).min(1) }).optional(),
  'use-spot': boolean,
  'iam-instance-profile': z.looseObject({ name: name.optional(), arn: name.optional() }).optional(),
  // For the driver metastatic.
  'backing-label': name.optional(),
  'max-parallel-jobs': number.optional(),
  'grace-time': number.optional(),
  'min-retention-time': number.optional(),
  'max-age': number.optional(),
});

const poolKeys = z.looseObject({
  name: name,
  priority: number.optional(),
  'node-attributes': free.nullish(),
  'max-servers': number.optional(),
  'max-cores': number.optional(),
  'max-ram': number.optional(),
  'ignore-provider-quota': z.boolean().optional(),
  labels: z.array(offerSchema).nullish(),
  nodes: z.array(machineSchema).nullish(),
});

const poolSchema = poolKeys.extend({
  'availability-zones': names,
  'availability-zone': name.optional(),
  networks: names,
  'security-groups': names,
  'security-group-id': name.nullish(),
  'subnet-id': name.nullish(),
  'public-ip-address': boolean,
  'public-ipv4': boolean,
  'use-internal-ip': boolean,
});

const cloudImageSchema = z.looseObject({
  name: name,
  'image-id': name.optional(),
  'image-name': name.optional(),
  'image-filters': z.unknown().optional(),
  username: name.optional(),
  'connection-port': number.optional(),
  'config-drive': boolean,
});

const uploadSchema = z.looseObject({
  name: name,
  'config-drive': boolean,
  'connection-port': number.optional(),
});

const providerKeys = z.looseObject({
  name: name,
  driver: z.string().optional(),
  priority: number.optional(),
  'launch-retries': number.optional(),
  'launch-timeout': number.optional(),
  'boot-timeout': number.optional(),
  rate: number.optional(),
  'max-concurrency': number.optional(),
  pools: z.array(poolSchema).nullish(),
});

const providerSchema = providerKeys.extend({
  cloud: name.optional(),
  'region-name': name.optional(),
  'image-format': name.optional(),
  'cloud-images': z.array(cloudImageSchema).nullish(),
  diskimages: z.array(uploadSchema).nullish(),
});

const diskimageSchema = z.looseObject({
  name: name,
  parent: name.optional(),
  abstract: boolean,
  elements: names,
  release: name.optional(),
  'env-vars': z.record(z.string(), z.union([name, z.boolean().transform(String)])).nullish(),
  formats: names,
  'rebuild-age': number.optional(),
  'build-timeout': number.optional(),
  username: name.optional(),
});

const tenantSchema = z.looseObject({
  'tenant-name': name,
  'max-servers': number.optional(),
  'max-cores': number.optional(),
  'max-ram': number.optional(),
});

/** The importable part of a nodepool.yaml; other keys are kept for the report. */
export const nodepoolSchema = z.looseObject({
  labels: z
    .array(labelSchema)
    .nullish()
    .transform((labels) => labels ?? []),
  providers: z
    .array(providerSchema)
    .nullish()
    .transform((providers) => providers ?? []),
  'max-hold-age': number.optional(),
  'tenant-resource-limits': z.array(tenantSchema).nullish(),
  diskimages: z.array(diskimageSchema).nullish(),
});

export type NodepoolFile = z.output<typeof nodepoolSchema>;
export type NodepoolProvider = NodepoolFile['providers'][number];
export type NodepoolPool = NonNullable<NodepoolProvider['pools']>[number];
export type NodepoolMachine = NonNullable<NodepoolPool['nodes']>[number];

export type NodepoolOffer = NonNullable<NodepoolPool['labels']>[number];
export type Diskimage = NonNullable<NodepoolFile['diskimages']>[number];

/** Keys that the import reads, by part of the file. */
export const readKeys = {
  file: Object.keys(nodepoolSchema.shape),
  label: Object.keys(labelSchema.shape),
  provider: Object.keys(providerKeys.shape),
  pool: Object.keys(poolKeys.shape),
  machine: Object.keys(machineSchema.shape),
  offer: Object.keys(offerKeys.shape),
  tenant: Object.keys(tenantSchema.shape),
  diskimage: Object.keys(diskimageSchema.shape),
  cloudImage: Object.keys(cloudImageSchema.shape),
  upload: Object.keys(uploadSchema.shape),
} as const;
export type NodepoolPart = keyof typeof readKeys;

export type CloudDriver = 'openstack' | 'aws';

/** Additional keys that the import reads for a driver. */
export const readForDriver: Readonly<
  Record<CloudDriver | 'metastatic', Readonly<Partial<Record<NodepoolPart, readonly string[]>>>>
> = {
  metastatic: {
    offer: ['backing-label', 'max-parallel-jobs', 'grace-time', 'min-retention-time', 'max-age'],
  },
  openstack: {
    provider: ['cloud', 'region-name', 'cloud-images', 'diskimages'],
    pool: ['availability-zones', 'networks', 'security-groups'],
    offer: ['networks', 'key-name', 'userdata', 'boot-from-volume', 'volume-size'],
  },
  aws: {
    provider: ['region-name', 'cloud-images', 'diskimages', 'image-format'],
    pool: [
      'availability-zone',
      'security-group-id',
      'subnet-id',
      'public-ip-address',
      'public-ipv4',
      'use-internal-ip',
    ],
    offer: [
      'key-name',
      'userdata',
      'volume-size',
      'volume-type',
      'instance-type',
      'fleet',
      'use-spot',
      'iam-instance-profile',
    ],
  },
};
