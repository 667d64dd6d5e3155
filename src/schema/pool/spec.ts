import { z } from 'zod';
import type { Amounts } from '../../model/pool/amounts.js';
import type { DeepReadonly } from '../../model/json.js';
import { durationSchema } from '../duration.js';
import { clusterNameSchema, foreignNameSchema, simpleNameSchema } from '../names.js';
import { anyJsonSchema, fieldsSchema } from '../any-fields.js';

/** Pool, label and number make a hostname: one label of DNS, with room for the number. */
export const longestName = 40;

const entries = <Value extends z.ZodType>(value: Value, most: number) =>
  z
    .record(simpleNameSchema, value)
    .refine((record) => Object.keys(record).length <= most, { error: `has more than ${most} entries` });

const amount = z.number().min(0).max(1e9);

/** The author chooses the counted quantities; `nodes` is always counted. */
const amountsSchema = z
  .record(simpleNameSchema, amount)
  .meta({ description: 'How much of what: {nodes: 10, cores: 40, memory: 65536}; memory in MiB.' });

const libraryImageSchema = clusterNameSchema.meta({
  title: 'Library image',
  description:
    'Name of an image that is built (heddle image): nodes are made from its newest ready version, and ready ones are replaced when there is a newer one.',
});

const cleanUpSchema = z
  .strictObject({
    script: z
      .string()
      .min(1)
      .max(64 * 1024)
      .meta({ title: 'Script', description: 'Run by sh on the used node.' }),
    sudo: z.boolean().optional().meta({ title: 'Sudo', description: 'Run it as root by sudo.' }),
    timeout: durationSchema
      .optional()
      .meta({ title: 'Timeout', description: 'Longest time that it may take, such as "5m".' }),
  })
  .meta({
    title: 'Clean-up',
    description: 'What is run on a used node before it is ready again: {script, sudo, timeout}.',
  });

const labelSchema = z
  .strictObject({
    minReady: z
      .int()
      .min(0)
      .max(1_000)
      .default(0)
      .meta({
        title: 'Minimum ready',
        description: 'Nodes that are kept ready for the next requests; 0 unless given.',
      }),
    maxReadyAge: durationSchema
      .optional()
      .meta({ title: 'Maximum ready age', description: 'A ready node that is older is replaced: "8h".' }),
    spareAge: durationSchema
      .default(600)
      .meta({
        title: 'Spare age',
        description:
          'Ready nodes beyond minReady are deleted when they were not requested for so long; "10m" unless given.',
      }),
    maxHoldAge: durationSchema
      .optional()
      .meta({
        title: 'Maximum hold age',
        description: 'A held node is deleted after so long, whatever its hold says: "1d".',
      }),
    onReturn: z
      .enum(['delete', 'reuse'])
      .default('delete')
      .meta({ title: 'On return', description: 'What becomes of a used node: delete it, or reuse it.' }),
    cleanUp: cleanUpSchema.optional(),
    failOver: z
      .enum(['request', 'node'])
      .optional()
      .meta({
        title: 'Fail-over',
        description:
          'What moves to another provider pool if a machine fails or is slow: all nodes of its request ("request", unless given), or the node alone ("node").',
      }),
    libraryImage: libraryImageSchema.optional(),
  })
  .meta({ title: 'Label', description: 'A kind of node that can be asked for.' });

const offerSchema = z
  .strictObject({
    hardware: foreignNameSchema
      .default('default')
      .meta({
        title: 'Hardware',
        description: "Size of the machine: a word of the provider account's, or the provider's own.",
      }),
    image: foreignNameSchema
      .optional()
      .meta({
        title: 'Image',
        description:
          'Machine image: a word of the provider account\'s, or the provider\'s own; "default" unless given.',
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
          'What one machine takes of the limits: {cores: 2, memory: 4096}; what its hardware has unless given. It is one node always.',
      })
      .transform((uses): Amounts => ({ ...uses, nodes: uses['nodes'] ?? 1 })),
    launchWithin: durationSchema
      .optional()
      .meta({
        title: 'Launch within',
        description:
          'Longest time until the provider has taken the order for a machine, tries included: "10m"; 30 minutes unless given.',
      }),
    confirmWithin: durationSchema
      .optional()
      .meta({ title: 'Confirm within', description: 'Longest wait until a new machine answers: "5m".' }),
    slots: z
      .int()
      .min(1)
      .max(1_000)
      .optional()
      .meta({ title: 'Slots', description: 'One machine stands behind so many nodes, which share it.' }),
    minRetention: durationSchema
      .optional()
      .meta({
        title: 'Minimum retention',
        description: 'With slots: a machine stays for so long after the last of its nodes.',
      }),
    maxAge: durationSchema
      .optional()
      .meta({ title: 'Maximum age', description: 'With slots: a machine that is older gets no new nodes.' }),
  })
  .refine(({ image, libraryImage }) => image === undefined || libraryImage === undefined, {
    error: 'is given beside image: say one of them',
    path: ['libraryImage'],
  })
  .meta({ title: 'Offer', description: 'How the provider pool makes nodes of the label.' });

const providerPoolSchema = z
  .strictObject({
    provider: simpleNameSchema.meta({
      title: 'Provider',
      description: "Name of a provider account from the workers' heddle.yaml.",
    }),
    priority: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(100)
      .meta({ title: 'Priority', description: 'Low comes first; 100 unless given.' }),
    limits: amountsSchema
      .prefault({})
      .meta({
        title: 'Limits',
        description:
          'Most of each at a time: {nodes: 10, cores: 40, memory: 65536}. nodes: 0 switches it off.',
      }),
    ignoreQuota: z
      .boolean()
      .optional()
      .meta({ title: 'Ignore quota', description: "The account's own quota is not asked for." }),
    attributes: z
      .record(z.string().max(100), anyJsonSchema)
      .prefault({})
      .meta({ title: 'Attributes', description: 'Free; passed to the requester with a node.' }),
    launchAttempts: z
      .int()
      .min(1)
      .max(20)
      .default(3)
      .meta({
        title: 'Launch attempts',
        description:
          'Machines that may fail for a request before another provider pool is tried; 3 unless given.',
      }),
    checkEvery: durationSchema
      .optional()
      .meta({
        title: 'Check every',
        description: 'How often ready nodes are looked at: "1m". Never unless given.',
      }),
    probeAfter: durationSchema
      .optional()
      .meta({
        title: 'Probe after',
        description:
          'A ready node that was seen to answer longer ago is probed before it is handed out: "5m". A minute unless given.',
      }),
    keepUnwell: z
      .boolean()
      .optional()
      .meta({
        title: 'Keep unwell',
        description:
          'A ready node that does not answer waits until it does, instead of being deleted: for machines that exist.',
      }),
    labels: entries(offerSchema, 200).meta({
      title: 'Labels',
      description: 'The labels that it serves, and how.',
    }),
  })
  .meta({ title: 'Provider pool', description: 'A share of a provider account that nodes come from.' });

const poolKeys = {
  labels: entries(labelSchema, 200)
    .refine((labels) => Object.keys(labels).length > 0, { error: 'has no label' })
    .meta({ title: 'Labels', description: 'Kinds of nodes that can be asked for, by name.' }),
  providerPools: entries(providerPoolSchema, 100)
    .refine((pools) => Object.keys(pools).length > 0, { error: 'has no provider pool' })
    .meta({ title: 'Provider pools', description: 'Where nodes come from, by name.' }),
  tenants: entries(amountsSchema, 1_000)
    .prefault({})
    .meta({
      title: 'Tenants',
      description: 'What requests of one tenant may have at a time, over all provider pools.',
    }),
  weights: entries(z.number().min(0.001).max(1e6), 1_000)
    .optional()
    .meta({
      title: 'Weights',
      description:
        'How waiting requests of equal priority share the nodes: {acme: 3} gives this tenant three times as many as another; 1 unless given.',
    }),
};

type Labels = Readonly<Record<string, z.output<typeof labelSchema>>>;
type ProviderPools = Readonly<Record<string, z.output<typeof providerPoolSchema>>>;

/** An offer inherits the library image of its label, unless it names an image itself. */
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
 * A pool with its name. Checks and normalises; the output is a valid input with the same output. Durations
 * are numbers of seconds in it.
 */
export const poolSchema = z
  .strictObject({ name: simpleNameSchema, ...poolKeys })
  .transform(({ providerPools, ...pool }) => ({
    ...pool,
    providerPools: inheritImages(pool.labels, providerPools),
  }));

/** A checked pool: defaults are filled in. */
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
        .meta({ title: 'Pool', description: 'Labels, and provider pools that serve them.' }),
      100,
    )
      .refine((pools) => Object.keys(pools).length > 0, { error: 'has no pool' })
      .meta({ title: 'Pools', description: 'Pools by name.' }),
  })
  .meta({
    title: 'Heddle pools',
    description: 'Pools of nodes that are kept ready or made on demand: pools.yaml.',
  });
