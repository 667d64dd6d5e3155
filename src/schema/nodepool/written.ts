import { z } from 'zod';

/** Some files write numbers as texts. */
const number = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/, { error: 'A number.' })
    .transform(Number),
]);
const name = z.union([z.string().min(1), z.number().transform(String)], { error: 'A name.' });
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

const offerSchema = z.looseObject({
  name: name,
  'flavor-name': name.optional(),
  'min-ram': number.optional(),
  diskimage: name.optional(),
  'cloud-image': name.optional(),
});

const poolSchema = z.looseObject({
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

const providerSchema = z.looseObject({
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

const tenantSchema = z.looseObject({
  'tenant-name': name,
  'max-servers': number.optional(),
  'max-cores': number.optional(),
  'max-ram': number.optional(),
});

/** The importable part of a nodepool.yaml; other keys are kept for the report. */
export const nodepoolSchema = z.looseObject({
  labels: z.array(labelSchema).min(1, { error: 'has no label' }),
  providers: z.array(providerSchema).min(1, { error: 'has no provider' }),
  'max-hold-age': number.optional(),
  'tenant-resource-limits': z.array(tenantSchema).nullish(),
});

export type NodepoolFile = z.output<typeof nodepoolSchema>;
export type NodepoolProvider = NodepoolFile['providers'][number];
export type NodepoolPool = NonNullable<NodepoolProvider['pools']>[number];
export type NodepoolMachine = NonNullable<NodepoolPool['nodes']>[number];

/** Keys that the import reads, by where they stand. */
export const readKeys = {
  file: Object.keys(nodepoolSchema.shape),
  label: Object.keys(labelSchema.shape),
  provider: Object.keys(providerSchema.shape),
  pool: Object.keys(poolSchema.shape),
  machine: Object.keys(machineSchema.shape),
  offer: Object.keys(offerSchema.shape),
  tenant: Object.keys(tenantSchema.shape),
} as const;
export type NodepoolPart = keyof typeof readKeys;
