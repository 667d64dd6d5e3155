import { z } from 'zod';
import type { DeepReadonly } from '../../model/json.js';
import { isLabelKey, labelRule, labelValuePattern, maxLabels } from '../../model/cluster/labels.js';
import { defaultRepair } from '../../model/cluster/default-repair.js';
import { anyJsonSchema, fieldsSchema } from '../any-fields.js';
import { durationSchema } from '../duration.js';
import { clusterNameSchema, pluginNameSchema, simpleNameSchema } from '../names.js';
import { checkSchema } from './health.js';
import { rollingSchema } from './rolling.js';
import { checkPlacement, normaliseGroup, placementKeys } from './placement.js';
import { outputsSchema, variablesSchema } from './variable.js';

/*
 * What a cluster should be, as one schema: it checks a spec and normalises it. The output is a valid input with
 * the same output, so the normalised form travels between client, workflow and worker and is checked again on
 * arrival. Durations are numbers of seconds in it.
 */

/** The largest group, and the largest cluster. */
export const maxNodes = 10_000;
const maxEntries = 500;
const maxKey = 200;

const names = (title: string, description: string) =>
  z.array(simpleNameSchema).max(maxEntries).default([]).meta({ title, description });

const requires = names(
  'Requires',
  'Services (by name, or by what they provide) that must stand on some node, and come first.',
);
const uses = names('Uses', 'Services that come first where they are in the cluster.');

const needsSchema = (title: string, description: string) =>
  z.strictObject({ requires, uses }).prefault({}).meta({ title, description });

export interface Needs {
  readonly requires: readonly string[];
  readonly uses: readonly string[];
}

function mergeNeeds(shared: readonly string[], { requires: own, uses: used }: Needs): Needs {
  return { requires: [...new Set([...shared, ...own])], uses: [...new Set(used)] };
}

const actionSchema = z
  .strictObject({
    type: pluginNameSchema.meta({
      title: 'Automator',
      description: 'Name of the automator that carries the action out, such as shell.',
    }),
    fields: fieldsSchema
      .prefault({})
      .meta({
        title: 'Fields',
        description:
          'Values for the fields the automator declares. {file: "./install.sh"} stands for the content of that file.',
      }),
    attempts: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .meta({ title: 'Attempts', description: 'How many times a script may run that fails, 1 to 100.' }),
    backoff: durationSchema
      .optional()
      .meta({
        title: 'Backoff',
        description:
          'Wait before the second run; it doubles with each further one, up to 10 minutes. No wait unless given.',
      }),
    timeout: durationSchema
      .optional()
      .meta({
        title: 'Timeout',
        description: 'Longest time one run may take: "30s", "10m", or a number of seconds.',
      }),
    permanentExitCodes: z
      .array(z.int().min(1).max(255))
      .max(255)
      .optional()
      .meta({
        title: 'Permanent exit codes',
        description: 'Exit codes, 1 to 255, after which another run is no use.',
      }),
  })
  .meta({ title: 'Action', description: 'What an automator does for the service: {type, fields}.' });

const serviceSchema = z
  .strictObject({
    requires: requires.meta({ description: 'Short for requires under both install and runtime.' }),
    provides: names('Provides', 'Other names under which services may require this one.'),
    conflicts: names('Conflicts', 'Services that must not stand on the same node.'),
    install: needsSchema('Needed to install', 'What must be installed before this service is.'),
    runtime: needsSchema('Needed to run', 'What must run before this service is initialised and started.'),
    peers: z
      .enum(['all', 'dependencies', 'none'])
      .default('all')
      .meta({
        title: 'Peers',
        description: 'Which nodes the actions read: all, those of dependencies (and its own), or none.',
      }),
    onPeersChange: z
      .enum(['configure', 'restart', 'nothing'])
      .optional()
      .meta({
        title: 'When peers change',
        description:
          'What is done when those nodes change: configure (the default, where there is such an action), restart as well, or nothing.',
      }),
    onConfigChange: z
      .enum(['restart', 'reload', 'configure', 'nothing'])
      .optional()
      .meta({
        title: 'When the configuration changes',
        description:
          'What is done when the configuration that it reads changes: restart (STOP, CONFIGURE, START), reload (CONFIGURE, RELOAD; the default, where there is such an action), configure, or nothing.',
      }),
    uses: z
      .strictObject({
        config: z
          .array(z.string().min(1).max(maxKey))
          .max(maxEntries)
          .meta({
            title: 'Configuration keys',
            description: 'Keys under config; its actions see no others.',
          }),
      })
      .optional()
      .meta({
        title: 'Uses',
        description: 'What the service reads of the cluster; all of the configuration unless given.',
      }),
    rolling: rollingSchema.optional(),
    check: checkSchema.optional(),
    actions: z
      .strictObject({
        install: actionSchema.optional(),
        configure: actionSchema.optional(),
        reload: actionSchema.optional(),
        initialize: actionSchema.optional(),
        start: actionSchema.optional(),
        stop: actionSchema.optional(),
        remove: actionSchema.optional(),
      })
      .prefault({})
      .meta({
        title: 'Actions',
        description:
          'install, configure, reload, initialize, start, stop, remove; those left out are skipped.',
      }),
  })
  .transform(({ requires: shared, install, runtime, onPeersChange, ...service }) => ({
    ...service,
    install: mergeNeeds(shared, install),
    runtime: mergeNeeds(shared, runtime),
    onPeersChange: onPeersChange ?? (service.actions.configure === undefined ? 'nothing' : 'configure'),
  }))
  .meta({ title: 'Service', description: 'Software on nodes: its actions, and what it needs.' });

const groupSchema = z
  .strictObject({
    count: z
      .int()
      .min(1)
      .max(maxNodes)
      .meta({ title: 'Count', description: `How many nodes, a whole number from 1 to ${maxNodes}.` }),
    minimum: z
      .int()
      .min(1)
      .max(maxNodes)
      .optional()
      .meta({
        title: 'Minimum',
        description: 'With how many nodes the group is good enough; all of them unless given.',
      }),
    ...placementKeys,
    services: z
      .array(simpleNameSchema)
      .max(maxEntries)
      .default([])
      .meta({ title: 'Services', description: 'Names of the services on each of its nodes.' }),
    confirmWithin: durationSchema
      .optional()
      .meta({
        title: 'Confirm within',
        description: 'Longest wait until a new machine answers: "10m", or a number of seconds.',
      }),
    alternatives: z
      .array(z.strictObject(placementKeys).superRefine(checkPlacement))
      .max(20)
      .optional()
      .meta({
        title: 'Alternatives',
        description:
          'Where to get machines when the first choice has none, in order. What is left out is as in the group.',
      }),
  })
  .superRefine(checkPlacement)
  .transform(normaliseGroup)
  .meta({
    title: 'Group',
    description: 'Nodes that are alike: count, provider (or pool and label), hardware, image, services.',
  });

const replaced = (title: string, what: string) =>
  z.enum(['replace', 'nothing']).meta({ title, description: `${what}: replace it, or do nothing.` });

const repairSchema = z
  .strictObject({
    gone: replaced('Gone', 'The provider has no such machine').default(defaultRepair.gone),
    stopped: replaced('Stopped', 'The machine is switched off').default(defaultRepair.stopped),
    unreachable: replaced(
      'Unreachable',
      'The machine runs, as its provider says, and does not answer',
    ).default(defaultRepair.unreachable),
    rebooted: z
      .enum(['start', 'nothing'])
      .default(defaultRepair.rebooted)
      .meta({
        title: 'Rebooted',
        description: 'The machine came up again: start what ran there, or do nothing.',
      }),
    moved: z
      .enum(['confirm', 'nothing'])
      .default(defaultRepair.moved)
      .meta({
        title: 'Moved',
        description: 'The machine has another address: confirm it there and tell its peers, or do nothing.',
      }),
    every: durationSchema
      .optional()
      .meta({
        title: 'Every',
        description:
          'How often a cluster at rest is looked at: "1h", or a number of seconds. Only when something is asked of it unless given.',
      }),
  })
  .meta({
    title: 'Repair',
    description: 'What an apply does about machines that are not as they should be.',
  });

const entries = <Value extends z.ZodType>(value: Value) =>
  z
    .record(simpleNameSchema, value)
    .refine((record) => Object.keys(record).length <= maxEntries, {
      error: `has more than ${maxEntries} entries`,
    });

const labelsSchema = z
  .record(
    z.string().refine(isLabelKey, { error: labelRule }),
    z.string().regex(labelValuePattern, { error: labelRule }),
  )
  .refine((labels) => Object.keys(labels).length <= maxLabels, {
    error: `has more than ${maxLabels} entries`,
  })
  .meta({
    title: 'Labels',
    description: 'Texts by key, for heddle list --label; machines that are created have them as tags.',
  });

export const servicesSchema = entries(serviceSchema)
  .prefault({})
  .meta({ title: 'Services', description: 'The services of the cluster, by name.' });

/** A cluster: cluster.yaml, or the same as JSON. */
export const clusterSchema = z
  .strictObject({
    name: clusterNameSchema.meta({
      title: 'Name',
      description:
        "The cluster's name: lower-case letters, digits and hyphens, a letter or digit first and last, at most 40 characters.",
    }),
    nodes: entries(groupSchema)
      .refine((groups) => Object.keys(groups).length > 0, { error: 'has no group of nodes' })
      .meta({
        title: 'Nodes',
        description: 'Groups of nodes, by name. Nodes are called <group>-1, <group>-2 and so on.',
      }),
    services: servicesSchema,
    config: z
      .record(z.string(), anyJsonSchema)
      .prefault({})
      .meta({
        title: 'Configuration',
        description: 'Free; every task gets it as `cluster`. When it changes, services are configured again.',
      }),
    onFailure: z
      .enum(['hold', 'continue', 'rollback'])
      .default('hold')
      .meta({
        title: 'On failure',
        description:
          'hold keeps everything and waits for you; continue goes on without failed nodes; rollback goes back to what was applied before.',
      }),
    repair: repairSchema.prefault({}),
    labels: labelsSchema.optional(),
    lock: z
      .boolean()
      .optional()
      .meta({
        title: 'Lock',
        description:
          'Whether the cluster refuses everything that removes or replaces a machine, until a file without the lock is applied.',
      }),
    variables: variablesSchema,
    outputs: outputsSchema,
    include: z
      .array(z.string().min(1))
      .max(100)
      .optional()
      .meta({
        title: 'Include',
        description:
          'Paths of files with more nodes, services, variables, outputs and config, and of service folders.',
      }),
    $schema: z
      .string()
      .optional()
      .meta({ title: 'Schema', description: 'Address of this JSON Schema, for editors; not used.' }),
  })
  .transform(({ $schema: _schema, include: _include, variables, outputs, ...spec }) => ({
    ...spec,
    ...(variables === undefined ? {} : { variables }),
    ...(outputs === undefined ? {} : { outputs }),
  }))
  .meta({
    title: 'Heddle cluster',
    description: 'What a cluster should be: nodes, and the services on them.',
  });

/** A cluster as people and programs write it; files and includes only in a cluster file. */
export type WrittenCluster = DeepReadonly<z.input<typeof clusterSchema>>;
/** A checked cluster: defaults are filled in, files inlined, short forms written out. */
export type ClusterSpec = DeepReadonly<z.output<typeof clusterSchema>>;
