import { z } from 'zod';
import type { Amounts } from '../../model/pool/amounts.js';
import type { DeepReadonly } from '../../model/json.js';
import { durationSchema } from '../duration.js';
import { clusterNameSchema, foreignNameSchema, simpleNameSchema } from '../names.js';
import { anyJsonSchema, fieldsSchema } from '../any-fields.js';

/** Maximum length of pool and label, which form hostnames (one DNS label) with a number. */
export const longestName = 40;

const entries = <Value extends z.ZodType>(value: Value, most: number) =>
  z
    .record(simpleNameSchema, value)
    .refine((record) => Object.keys(record).length <= most, { error: `has more than ${most} entries` });

const amount = z.number().min(0).max(1e9);

/** The author chooses the counted quantities; `nodes` is always counted. */
const amountsSchema = z
  .record(simpleNameSchema, amount)
  .meta({ description: 'Quantities by name: {nodes: 10, cores: 40, memory: 65536}; memory in MiB.' });

const libraryImageSchema = clusterNameSchema.meta({
  title: 'Library image',
  description:
    'Name of a built image (heddle image). Nodes are created from its newest ready version, and ready nodes are replaced when a newer version is ready.',
});

const cleanUpSchema = z
  .strictObject({
    script: z
      .string()
      .min(1)
      .max(64 * 1024)
      .meta({ title: 'Script', description: 'Shell script that runs on the used node.' }),
    sudo: z
      .boolean()
      .optional()
      .meta({ title: 'Sudo', description: 'Whether to run the script as root with sudo.' }),
    timeout: durationSchema
      .optional()
      .meta({ title: 'Timeout', description: 'Timeout of the script, such as "5m".' }),
  })
  .meta({
    title: 'Clean-up',
    description: 'Script that runs on a used node before the node is ready again: {script, sudo, timeout}.',
  });

const labelSchema = z
  .strictObject({
    minReady: z
      .int()
      .min(0)
      .max(1_000)
      .default(0)
      .meta({ title: 'Minimum ready', description: 'Number of nodes that are kept ready for requests.' }),
    maxReadyAge: durationSchema
      .optional()
      .meta({
        title: 'Maximum ready age',
        description: 'Age after which a ready node is replaced, such as "8h". Default: no limit.',
      }),
    spareAge: durationSchema
      .default(600)
      .meta({
        title: 'Spare age',
        description:
          'Time without a request after which ready nodes beyond minReady are deleted, such as "10m".',
      }),
    maxHoldAge: durationSchema
      .optional()
      .meta({
        title: 'Maximum hold age',
        description:
          'Maximum duration of a hold, after which a held node is deleted, such as "1d". Default: no limit.',
      }),
    onReturn: z
      .enum(['delete', 'reuse'])
      .default('delete')
      .meta({ title: 'On return', description: 'Whether a used node is deleted or reused.' }),
    cleanUp: cleanUpSchema.optional(),
    failOver: z
      .enum(['request', 'node'])
      .optional()
      .meta({
        title: 'Fail-over',
        default: 'request',
        description:
          'What moves to another provider pool if a machine fails or is slow: all nodes of its request, or only the node.',
      }),
    libraryImage: libraryImageSchema.optional(),
  })
  .meta({ title: 'Label', description: 'A kind of node that users can request.' });

const offerSchema = z
  .strictObject({
    hardware: foreignNameSchema
      .default('default')
      .meta({
        title: 'Hardware',
        description: 'Size of the machine, as the provider account or the provider names it.',
      }),
    image: foreignNameSchema
      .optional()
      .meta({
        title: 'Image',
        description:
          'Image of the machine, as the provider account or the provider names it. Default: "default", unless libraryImage is set.',
      }),
    libraryImage: libraryImageSchema.optional(),
    fields: fieldsSchema
      .prefault({})
      .meta({ title: 'Fields', description: "Values for the users' fields of the provider plugin." }),
    uses: amountsSchema
      .prefault({})
      .meta({
        title: 'Uses',
        description:
          'Quantities that a machine counts against the limits: {cores: 2, memory: 4096}. Default: those of its hardware, as the provider reports them. Each machine counts as one node.',
      })
      .transform((uses): Amounts => ({ ...uses, nodes: uses['nodes'] ?? 1 })),
    launchWithin: durationSchema
      .optional()
      .meta({
        title: 'Launch within',
        default: '30m',
        description:
          'Timeout for the provider to accept a machine request, including retries, such as "10m".',
      }),
    confirmWithin: durationSchema
      .optional()
      .meta({
        title: 'Confirm within',
        default: '10m',
        description: 'Timeout for a new machine to answer, such as "5m".',
      }),
    slots: z
      .int()
      .min(1)
      .max(1_000)
      .optional()
      .meta({ title: 'Slots', description: 'Number of nodes that share one machine.' }),
    minRetention: durationSchema
      .optional()
      .meta({
        title: 'Minimum retention',
        description: 'With slots: how long a machine is kept after its last node.',
      }),
    maxAge: durationSchema
      .optional()
      .meta({
        title: 'Maximum age',
        description: 'With slots: age after which a machine gets no new nodes. Default: no limit.',
      }),
  })
  .refine(({ image, libraryImage }) => image === undefined || libraryImage === undefined, {
    error: 'cannot be combined with image',
    path: ['libraryImage'],
  })
  .meta({ title: 'Offer', description: 'How the provider pool creates nodes of the label.' });

const providerPoolSchema = z
  .strictObject({
    provider: simpleNameSchema.meta({
      title: 'Provider',
      description: "Name of a provider account in the workers' heddle.yaml.",
    }),
    priority: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(100)
      .meta({ title: 'Priority', description: 'Provider pools with a lower number come first.' }),
    limits: amountsSchema
      .prefault({})
      .meta({
        title: 'Limits',
        description:
          'Limits on concurrent use: {nodes: 10, cores: 40, memory: 65536}. nodes: 0 disables the provider pool.',
      }),
    ignoreQuota: z
      .boolean()
      .optional()
      .meta({ title: 'Ignore quota', description: "Whether to ignore the account's own quota." }),
    attributes: z
      .record(z.string().max(100), anyJsonSchema)
      .prefault({})
      .meta({ title: 'Attributes', description: 'Free-form; passed to the requester with each node.' }),
    launchAttempts: z
      .int()
      .min(1)
      .max(20)
      .default(3)
      .meta({
        title: 'Launch attempts',
        description: 'Number of machines that may fail for a request before another provider pool is tried.',
      }),
    checkEvery: durationSchema
      .optional()
      .meta({
        title: 'Check every',
        description: 'Interval between probes of ready nodes, such as "1m". Default: no probes.',
      }),
    probeAfter: durationSchema
      .optional()
      .meta({
        title: 'Probe after',
        default: '1m',
        description:
          'Time since the last successful probe after which a ready node is probed again before it is allocated, such as "5m".',
      }),
    keepUnwell: z
      .boolean()
      .optional()
      .meta({
        title: 'Keep unwell',
        description:
          'Whether to keep a ready node that does not answer until it does, instead of deleting it. For existing machines.',
      }),
    labels: entries(offerSchema, 200).meta({
      title: 'Labels',
      description: 'The labels that the provider pool serves, and how.',
    }),
  })
  .meta({ title: 'Provider pool', description: 'A share of a provider account that supplies nodes.' });

const poolKeys = {
  labels: entries(labelSchema, 200)
    .refine((labels) => Object.keys(labels).length > 0, { error: 'has no label' })
    .meta({ title: 'Labels', description: 'Kinds of nodes that users can request, by name.' }),
  providerPools: entries(providerPoolSchema, 100)
    .refine((pools) => Object.keys(pools).length > 0, { error: 'has no provider pool' })
    .meta({ title: 'Provider pools', description: 'Sources of nodes, by name.' }),
  tenants: entries(amountsSchema, 1_000)
    .prefault({})
    .meta({
      title: 'Tenants',
      description: 'Limits on concurrent use by the requests of a tenant, over all provider pools.',
    }),
  weights: entries(z.number().min(0.001).max(1e6), 1_000)
    .optional()
    .meta({
      title: 'Weights',
      description:
        'Shares of tenants among waiting requests of equal priority: {acme: 3} gives this tenant three times as many nodes as another. Default: 1.',
    }),
};

type Labels = Readonly<Record<string, z.output<typeof labelSchema>>>;
type ProviderPools = Readonly<Record<string, z.output<typeof providerPoolSchema>>>;

/** An offer inherits the library image of its label unless it sets an image itself. */
function inheritImages(labels: Labels, pools: ProviderPools): ProviderPools {
  return mapValues(pools, (pool) => ({
    ...pool,
    labels: mapValues(pool.labels, (offer, label) =>
      offer.image === undefined &&
      offer.libraryImage === undefined &&
      labels[label]?.libraryImage !== undefined
        ? { ...offer, libraryImage: labels[label].libraryImage }
        : offer,
    ),
  }));
}

function mapValues<From, To>(
  record: Readonly<Record<string, From>>,
  change: (value: From, key: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}

/**
 * A pool with its name. Validates and normalises; the output is a valid input with the same
 * output. The output contains durations as numbers of seconds.
 */
export const poolSchema = z
  .strictObject({ name: simpleNameSchema, ...poolKeys })
  .transform(({ providerPools, ...pool }) => ({
    ...pool,
    providerPools: inheritImages(pool.labels, providerPools),
  }));

/** A validated pool: with defaults filled in. */
export type PoolSpec = DeepReadonly<z.output<typeof poolSchema>>;

/** pools.yaml: pools by name. */
export const poolsSchema = z
  .strictObject({
    $schema: z
      .string()
      .optional()
      .meta({ title: 'Schema', description: 'Address of this JSON Schema, for editors; not used.' }),
    pools: entries(
      z
        .strictObject(poolKeys)
        .meta({ title: 'Pool', description: 'Labels, and the provider pools that serve them.' }),
      100,
    )
      .refine((pools) => Object.keys(pools).length > 0, { error: 'has no pool' })
      .meta({ title: 'Pools', description: 'Pools by name.' }),
  })
  .meta({
    title: 'Heddle pools',
    description: 'Pools of nodes that are kept ready or created on demand: pools.yaml.',
  });
