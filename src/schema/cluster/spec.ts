import { z } from 'zod';
import type { DeepReadonly } from '../../model/json.js';
import { isLabelKey, labelRule, labelValuePattern, maxLabels } from '../../model/cluster/labels.js';
import { defaultRepair } from '../../model/cluster/default-repair.js';
import { anyJsonSchema, fieldsSchema } from '../any-fields.js';
import { durationSchema } from '../duration.js';
import { clusterNameSchema, pluginNameSchema, simpleNameSchema } from '../names.js';
import { checkSchema } from './health.js';
import { serviceLogsSchema } from './service-logs.js';
import { rollingSchema } from './rolling.js';
import { checkPlacement, normaliseGroup, placementKeys } from './placement.js';
import { outputsSchema, variablesSchema } from './variable.js';

/*
 * The schema of a cluster spec: validates and normalises it. The output is a valid input with the same
 * output, so client, workflow and worker exchange the normalised form and validate it again on arrival. The
 * output contains durations as numbers of seconds.
 */

/** Maximum number of nodes in a group, and in a cluster. */
export const maxNodes = 10_000;
const maxEntries = 500;
const maxKey = 200;

const names = (title: string, description: string) =>
  z.array(simpleNameSchema).max(maxEntries).default([]).meta({ title, description });

const requires = names(
  'Requires',
  'Services, by name or by a name that they provide, that must exist on some node and come first.',
);
const uses = names('Uses', 'Services that come first if the cluster has them.');

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
      description: 'Name of the automator that executes the action, such as shell.',
    }),
    fields: fieldsSchema
      .prefault({})
      .meta({
        title: 'Fields',
        description:
          'Values for the fields of the automator. {file: "./install.sh"} is replaced by the content of that file.',
      }),
    attempts: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .meta({
        title: 'Attempts',
        default: 1,
        description: 'Maximum number of runs of a failing script, 1 to 100.',
      }),
    backoff: durationSchema
      .optional()
      .meta({
        title: 'Backoff',
        description:
          'Delay before the second run; it doubles with each further run, up to 10 minutes. Default: no delay.',
      }),
    timeout: durationSchema
      .optional()
      .meta({
        title: 'Timeout',
        default: '1h',
        description: 'Timeout of one run: "30s", "10m", or a number of seconds.',
      }),
    permanentExitCodes: z
      .array(z.int().min(1).max(255))
      .max(255)
      .optional()
      .meta({
        title: 'Permanent exit codes',
        description: 'Exit codes, 1 to 255, after which the script is not run again.',
      }),
  })
  .meta({ title: 'Action', description: 'An action of the service: {type, fields}.' });

const serviceSchema = z
  .strictObject({
    requires: requires.meta({ description: 'Shorthand for requires under both install and runtime.' }),
    provides: names('Provides', 'Other names under which services may require this one.'),
    conflicts: names('Conflicts', 'Services that must not be on the same node.'),
    install: needsSchema('Needed to install', 'Services that must be installed before this one.'),
    runtime: needsSchema(
      'Needed to run',
      'Services that run before this one is initialised and started, and stop after it. It goes down with what it requires, not with what it uses.',
    ),
    peers: z
      .enum(['all', 'dependencies', 'none'])
      .default('all')
      .meta({
        title: 'Peers',
        description:
          'Nodes that the actions read: all, dependencies (its own nodes and those of its dependencies) or none.',
      }),
    onPeersChange: z
      .enum(['configure', 'restart', 'nothing'])
      .optional()
      .meta({
        title: 'When peers change',
        description:
          'Reaction to a change of those nodes: configure, restart (STOP, CONFIGURE, START) or nothing. Default: configure, if the action exists.',
      }),
    onConfigChange: z
      .enum(['restart', 'reload', 'configure', 'nothing'])
      .optional()
      .meta({
        title: 'When the configuration changes',
        description:
          'Reaction to a change of the configuration that the service reads: restart (STOP, CONFIGURE, START), reload (CONFIGURE, RELOAD), configure or nothing. Default: reload or configure, if the action exists.',
      }),
    uses: z
      .strictObject({
        config: z
          .array(z.string().min(1).max(maxKey))
          .max(maxEntries)
          .meta({
            title: 'Configuration keys',
            description: 'Keys under config that the actions read; they see no others.',
          }),
      })
      .optional()
      .meta({ title: 'Uses', description: 'Configuration that the service reads. Default: all.' }),
    rolling: rollingSchema.optional(),
    check: checkSchema.optional(),
    logs: serviceLogsSchema.optional(),
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
          'install, configure, reload, initialize, start, stop, remove; omitted actions are skipped.',
      }),
  })
  .transform(({ requires: shared, install, runtime, onPeersChange, ...service }) => ({
    ...service,
    install: mergeNeeds(shared, install),
    runtime: mergeNeeds(shared, runtime),
    onPeersChange: onPeersChange ?? (service.actions.configure === undefined ? 'nothing' : 'configure'),
  }))
  .meta({ title: 'Service', description: 'Software on nodes: its actions and dependencies.' });

const groupSchema = z
  .strictObject({
    count: z
      .int()
      .min(1)
      .max(maxNodes)
      .meta({ title: 'Count', description: `Number of nodes, a whole number from 1 to ${maxNodes}.` }),
    minimum: z
      .int()
      .min(1)
      .max(maxNodes)
      .optional()
      .meta({
        title: 'Minimum',
        description:
          'Smallest number of nodes with which an operation succeeds: it continues without failed nodes, and the next apply tries them again. Default: the count.',
      }),
    ...placementKeys,
    services: z
      .array(simpleNameSchema)
      .max(maxEntries)
      .default([])
      .meta({ title: 'Services', description: 'Names of the services on each node.' }),
    confirmWithin: durationSchema
      .optional()
      .meta({
        title: 'Confirm within',
        description:
          'Timeout for a new machine to answer: "10m", or a number of seconds. Default: 1 day for nodes of a pool without alternatives, otherwise the limit of the provider account.',
      }),
    alternatives: z
      .array(z.strictObject(placementKeys).superRefine(checkPlacement))
      .max(20)
      .optional()
      .meta({
        title: 'Alternatives',
        description:
          'Other sources of machines, tried in order if the first has no capacity. Omitted keys default to those of the group.',
      }),
  })
  .superRefine(checkPlacement)
  .transform(normaliseGroup)
  .meta({
    title: 'Group',
    description: 'Identical nodes: count, provider (or pool and label), hardware, image, services.',
  });

const replaced = (title: string, observation: string) =>
  z
    .enum(['replace', 'nothing'])
    .meta({ title, description: `Reaction if ${observation}: replace the machine, or do nothing.` });

const repairSchema = z
  .strictObject({
    gone: replaced('Gone', 'the machine no longer exists').default(defaultRepair.gone),
    stopped: replaced('Stopped', 'the machine is switched off').default(defaultRepair.stopped),
    unreachable: replaced(
      'Unreachable',
      'the provider reports the machine as running, but it does not answer',
    ).default(defaultRepair.unreachable),
    rebooted: z
      .enum(['start', 'nothing'])
      .default(defaultRepair.rebooted)
      .meta({
        title: 'Rebooted',
        description: 'Reaction if the machine was rebooted: start its services, or do nothing.',
      }),
    moved: z
      .enum(['confirm', 'nothing'])
      .default(defaultRepair.moved)
      .meta({
        title: 'Moved',
        description:
          'Reaction if the address of the machine changed: confirm it and configure the services that read addresses, or do nothing.',
      }),
    every: durationSchema
      .optional()
      .meta({
        title: 'Every',
        description:
          'Interval between probes of an idle cluster: "1h", or a number of seconds. Default: no periodic probes.',
      }),
  })
  .meta({ title: 'Repair', description: 'How an apply repairs drift of machines.' });

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
    description:
      'Labels by key, at most 20, for heddle list --label; new machines get them as tags. A change replaces no machine.',
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
        description: 'Groups of nodes, by name. Nodes are named <group>-1, <group>-2 and so on.',
      }),
    services: servicesSchema,
    config: z
      .record(z.string(), anyJsonSchema)
      .prefault({})
      .meta({
        title: 'Configuration',
        description:
          'Free-form; every task receives it as `cluster`. A change configures the services again.',
      }),
    onFailure: z
      .enum(['hold', 'continue', 'rollback'])
      .default('hold')
      .meta({
        title: 'On failure',
        description:
          'hold finishes independent tasks and waits for a user; continue proceeds without failed nodes; rollback returns to the previous spec.',
      }),
    repair: repairSchema.prefault({}),
    labels: labelsSchema.optional(),
    lock: z
      .boolean()
      .optional()
      .meta({
        title: 'Lock',
        default: false,
        description:
          'Whether to refuse operations that remove or replace machines, until a file without the lock is applied.',
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
          'Paths of files with further nodes, services, variables, outputs and config, and of service folders.',
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
    description: 'The wanted state of a cluster: nodes, and the services on them.',
  });

/** A cluster as people and programs write it; files and includes only in a cluster file. */
export type WrittenCluster = DeepReadonly<z.input<typeof clusterSchema>>;
/** A validated cluster: with defaults filled in, files inlined and shorthands expanded. */
export type ClusterSpec = DeepReadonly<z.output<typeof clusterSchema>>;
