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
    error: 'Must be a format of lower-case letters, digits and dots, such as qcow2.',
  });
/** builder.commands in heddle.yaml lists the variables that a command accepts. */
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
      .meta({ title: 'Cluster', description: 'Name of the cluster. Alternatively, set pool.' }),
    pool: simpleNameSchema
      .optional()
      .meta({ title: 'Pool', description: 'Name of the pool. The node must be held.' }),
    node: nodeIdSchema.meta({ title: 'Node', description: 'ID of the node, such as web-1.' }),
  })
  .refine(({ cluster, pool }) => (cluster === undefined) !== (pool === undefined), {
    error: 'must name either a cluster or a pool',
  });

const recipeSchema = z
  .strictObject({
    from: fromSchema
      .optional()
      .meta({
        title: 'From',
        description:
          'An existing node whose current state is captured: {cluster, node} or {pool, node}. Replaces provider, hardware, image and fields.',
      }),
    provider: simpleNameSchema
      .optional()
      .meta({
        title: 'Provider',
        description: 'The provider account that creates the machine and captures the image.',
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
      .meta({ title: 'Services', description: 'Names of the services that are installed on the machine.' }),
    system: z
      .union([pluginNameSchema, z.literal('none')])
      .default('linux')
      .meta({
        title: 'System',
        description:
          'The automator that prepares the operating system for the capture; none for a machine without an operating system.',
      }),
  })
  .superRefine(({ from, ...own }, context) => {
    for (const key of ['provider', 'hardware', 'image', 'fields'] as const)
      if (from !== undefined && own[key] !== undefined)
        context.addIssue({
          code: 'custom',
          path: [key],
          message: 'cannot be combined with from: the node determines it',
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
          'Environment variables for the command; builder.commands.NAME.variables in heddle.yaml lists those that it accepts.',
      }),
    formats: z
      .array(formatSchema)
      .min(1)
      .max(10)
      .meta({
        title: 'Formats',
        description:
          'Formats of the created files: the command writes a file $HEDDLE_OUTPUT.<format> for each.',
      }),
    timeout: durationSchema
      .optional()
      .meta({ title: 'Timeout', default: '8h', description: 'Timeout of the command.' }),
    site: simpleNameSchema
      .default('default')
      .meta({ title: 'Site', description: 'The site whose builders run the command.' }),
  })
  .meta({ title: 'Command', description: 'A command of the builders that creates the image files.' });

const validateSchema = z
  .union([
    z.literal(false),
    z.strictObject({
      provider: simpleNameSchema
        .optional()
        .meta({
          title: 'Provider',
          description:
            'The provider account that boots a machine from the image. Default: that of the recipe, or of the first upload.',
        }),
      hardware: foreignNameSchema
        .optional()
        .meta({ title: 'Hardware', description: 'Size of that machine. Default: that of the recipe.' }),
      fields: fieldsSchema.optional(),
      command: z
        .string()
        .min(1)
        .max(64 * 1024)
        .optional()
        .meta({
          title: 'Command',
          description: 'Shell command on that machine, which must end with exit code 0.',
        }),
      within: durationSchema
        .default(15 * 60)
        .meta({ title: 'Within', description: 'Timeout of the whole validation, such as "15m".' }),
    }),
  ])
  .prefault({})
  .meta({
    title: 'Validate',
    description:
      'Boots a machine from the image before the image is offered: {provider, hardware, command, within}; or false.',
  });

/**
 * An image: image.yaml. Validates and normalises; the output is a valid input with the same
 * output. The output contains durations as numbers of seconds.
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
        description: 'Provider accounts that the image is uploaded to: [{provider, format}].',
      }),
    validate: validateSchema,
    keep: z
      .int()
      .min(1)
      .max(100)
      .default(2)
      .meta({ title: 'Keep', description: 'Number of ready builds to keep.' }),
    rebuildAge: durationSchema
      .optional()
      .meta({
        title: 'Rebuild age',
        description:
          'Builds the image automatically if there is no build, or if the newest is older than this: "1d". Default: only on request.',
      }),
  })
  .refine(({ recipe, command }) => (recipe === undefined) !== (command === undefined), {
    error: 'must have either a recipe or a command',
  })
  .transform(({ $schema: _schema, validate, ...image }) => {
    if (validate === false) return { ...image, validate };
    const { recipe } = image;
    const account = recipe?.from === undefined ? undefined : accountOfNode;
    const provider = validate.provider ?? recipe?.provider ?? account ?? image.uploads[0]?.provider ?? '';
    const hardware = validate.hardware ?? recipe?.hardware ?? account ?? 'default';
    return { ...image, validate: { fields: recipe?.fields ?? {}, ...validate, provider, hardware } };
  })
  .meta({ title: 'Heddle image', description: 'How to build an image: by a recipe or a command.' });

/** A validated image: with defaults filled in and files inlined. */
export type ImageSpec = DeepReadonly<z.output<typeof imageSchema>>;
