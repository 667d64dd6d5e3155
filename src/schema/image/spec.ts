import { z } from 'zod';
import type { DeepReadonly } from '../../model/json.js';
import { accountOfNode } from '../../model/image/account-of-node.js';
import { fieldsSchema } from '../any-fields.js';
import { durationSchema } from '../duration.js';
import {
  clusterNameSchema,
  foreignNameSchema,
  nodeIdSchema,
  pluginNameSchema,
  simpleNameSchema,
  variableNameSchema,
} from '../names.js';
import { servicesSchema } from '../cluster/spec.js';

const formatSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.]{0,15}$/, {
    error: 'A format: lower-case letters, digits and dots, such as qcow2.',
  });
/** Which of them a command takes is said under builder.commands in heddle.yaml. */
const environmentSchema = z.record(
  variableNameSchema,
  z
    .string()
    .max(4_096)
    .regex(/^[^\0]*$/),
);

const fromSchema = z
  .strictObject({
    cluster: clusterNameSchema
      .optional()
      .meta({ title: 'Cluster', description: 'Name of the cluster; or give a pool.' }),
    pool: simpleNameSchema
      .optional()
      .meta({ title: 'Pool', description: 'Name of the pool; the node must be held.' }),
    node: nodeIdSchema.meta({ title: 'Node', description: 'Id of the node: web-1.' }),
  })
  .refine(({ cluster, pool }) => (cluster === undefined) !== (pool === undefined), {
    error: 'names either a cluster or a pool',
  });

const recipeSchema = z
  .strictObject({
    from: fromSchema
      .optional()
      .meta({
        title: 'From',
        description:
          'A node that it is made of, as the node stands: {cluster, node} or {pool, node}; in place of provider, hardware, image and fields.',
      }),
    provider: simpleNameSchema
      .optional()
      .meta({
        title: 'Provider',
        description: 'The provider account that the machine comes from, and that the image is captured at.',
      }),
    hardware: foreignNameSchema
      .optional()
      .meta({ title: 'Hardware', description: 'Size of the machine, as the provider account names it.' }),
    image: foreignNameSchema
      .optional()
      .meta({ title: 'Image', description: 'The base image, as the provider account names it.' }),
    fields: fieldsSchema.optional(),
    services: z
      .array(simpleNameSchema)
      .max(100)
      .default([])
      .meta({ title: 'Services', description: 'Names of the services that are carried out on it.' }),
    system: z
      .union([pluginNameSchema, z.literal('none')])
      .default('linux')
      .meta({
        title: 'System',
        description:
          'The automator that makes the system fit to be captured; none for what has no system. linux unless given.',
      }),
  })
  .superRefine(({ from, ...own }, context) => {
    for (const key of ['provider', 'hardware', 'image', 'fields'] as const)
      if (from !== undefined && own[key] !== undefined)
        context.addIssue({
          code: 'custom',
          path: [key],
          message: 'stands beside a node, which has one already; take it out, or take out from',
        });
  })
  .meta({ title: 'Recipe', description: 'A machine from a base image, services on it, and a capture.' });

const commandSchema = z
  .strictObject({
    run: simpleNameSchema.meta({
      title: 'Command',
      description: "Its name under builder.commands in the builders' heddle.yaml.",
    }),
    environment: environmentSchema
      .default({})
      .meta({
        title: 'Environment',
        description:
          'Variables for the command, of those that it takes: builder.commands.NAME.variables in heddle.yaml.',
      }),
    formats: z
      .array(formatSchema)
      .min(1)
      .max(10)
      .meta({ title: 'Formats', description: 'It leaves a file $HEDDLE_OUTPUT.<format> of each.' }),
    timeout: durationSchema
      .optional()
      .meta({ title: 'Timeout', description: 'Longest time that it may take; "8h" unless given.' }),
    site: simpleNameSchema
      .default('default')
      .meta({ title: 'Site', description: 'The site whose builders run it.' }),
  })
  .meta({ title: 'Command', description: 'A command of the builders that makes files.' });

const validateSchema = z
  .union([
    z.literal(false),
    z.strictObject({
      provider: simpleNameSchema
        .optional()
        .meta({
          title: 'Provider',
          description: "Where a machine is made from it; the recipe's, or the first upload's, unless given.",
        }),
      hardware: foreignNameSchema
        .optional()
        .meta({ title: 'Hardware', description: "Size of that machine; the recipe's unless given." }),
      fields: fieldsSchema.optional(),
      command: z
        .string()
        .min(1)
        .max(64 * 1024)
        .optional()
        .meta({ title: 'Command', description: 'Run by sh on that machine; it must end with exit code 0.' }),
      within: durationSchema
        .default(15 * 60)
        .meta({ title: 'Within', description: 'Longest time over all; "15m" unless given.' }),
    }),
  ])
  .prefault({})
  .meta({
    title: 'Validate',
    description:
      'Boot a machine from it before it is offered: {provider, hardware, command, within}; or false.',
  });

/**
 * An image: image.yaml. Checks and normalises; the output is a valid input with the same output. Durations
 * are numbers of seconds in it.
 */
export const imageSchema = z
  .strictObject({
    $schema: z
      .string()
      .optional()
      .meta({ title: 'Schema', description: 'Address of this JSON Schema, for editors; not used.' }),
    name: clusterNameSchema.meta({
      title: 'Name',
      description: 'Lower-case letters, digits and hyphens, at most 40 characters.',
    }),
    recipe: recipeSchema.optional(),
    services: servicesSchema,
    command: commandSchema.optional(),
    uploads: z
      .array(z.strictObject({ provider: simpleNameSchema, format: formatSchema.default('tar') }))
      .max(50)
      .default([])
      .meta({
        title: 'Uploads',
        description: 'Provider accounts that get it as a file: [{provider, format}].',
      }),
    validate: validateSchema,
    keep: z
      .int()
      .min(1)
      .max(100)
      .default(2)
      .meta({ title: 'Keep', description: 'Ready builds that stay; 2 unless given.' }),
    rebuildAge: durationSchema
      .optional()
      .meta({
        title: 'Rebuild age',
        description:
          'It is built by itself when there is none, and when the newest is older: "1d". Only on request unless given.',
      }),
  })
  .refine(({ recipe, command }) => (recipe === undefined) !== (command === undefined), {
    error: 'has either a recipe or a command',
  })
  .transform(({ $schema: _schema, validate, ...image }) => {
    if (validate === false) return { ...image, validate };
    const { recipe } = image;
    const account = recipe?.from === undefined ? undefined : accountOfNode;
    const provider = validate.provider ?? recipe?.provider ?? account ?? image.uploads[0]?.provider ?? '';
    const hardware = validate.hardware ?? recipe?.hardware ?? account ?? 'default';
    return { ...image, validate: { fields: recipe?.fields ?? {}, ...validate, provider, hardware } };
  })
  .meta({ title: 'Heddle image', description: 'How an image is made: by a recipe or a command.' });

/** A checked image: defaults are filled in and files inlined. */
export type ImageSpec = DeepReadonly<z.output<typeof imageSchema>>;
